{{/* Combinations that cannot work, each with its reason. Types and ranges are values.schema.json's to check. */}}
{{- define "specwatch.checks" -}}
{{- $v := .Values -}}
{{- $lever := $v.fallback.lever -}}
{{- if eq $v.mode "sidecar" -}}
  {{- if and (ne $v.scaler.kind "none") (not $v.target.name) }}{{ fail "scaler.kind: say target.name, the workload that is to be scaled" }}{{ end -}}
  {{- if gt (len $v.target.name) 54 }}{{ fail "target.name: at most 54 characters, since KEDA calls its HPA keda-hpa-<name> in 63" }}{{ end -}}
  {{- if and (eq $v.monitor.kind "ServiceMonitor") (not $v.target.podLabels) }}{{ fail "monitor.kind=ServiceMonitor: say target.podLabels, by which its Service finds the pods; PodMonitor does without" }}{{ end -}}
  {{- if $v.gateway.enabled }}{{ fail "gateway.enabled: the route is over the pools of mode stack; mode sidecar has none" }}{{ end -}}
{{- else -}}
  {{- if not $v.stack.pools }}{{ fail "stack.pools: mode stack needs one pool at least" }}{{ end -}}
  {{- range $level, $pool := $v.stack.pools -}}
    {{- $spec := default dict $pool.speculation -}}
    {{- if and (eq $level "off") $spec }}{{ fail "stack.pools.off: it is the level without speculation, and has one" }}{{ end -}}
    {{- if and (ne $level "off") (not $spec) }}{{ fail (printf "stack.pools.%s: say its speculation; the level without is called off" $level) }}{{ end -}}
    {{- if and (eq $level "ngram") (ne (toString $spec.method) "ngram") }}{{ fail (printf "stack.pools.ngram: its speculation.method is %v; the controller takes this pool for n-gram" $spec.method) }}{{ end -}}
    {{- if and (has (toString $spec.method) (list "eagle" "eagle3" "draft_model")) (not $spec.model) }}{{ fail (printf "stack.pools.%s: speculation.method %s needs speculation.model, the draft" $level $spec.method) }}{{ end -}}
  {{- end -}}
  {{- if le (int $v.stack.terminationGraceSeconds) (add 15 (int $v.stack.shutdownSeconds)) }}{{ fail "stack.terminationGraceSeconds: it must be more than shutdownSeconds and the 15 seconds before them, or answers are cut off" }}{{ end -}}
  {{- if and (ne $v.scaler.kind "none") (not $v.scaler.pools) }}{{ fail "scaler.pools: name the pools that follow the demand" }}{{ end -}}
  {{- if ne $v.scaler.kind "none" -}}
    {{- range $v.scaler.pools }}{{ if not (hasKey $v.stack.pools .) }}{{ fail (printf "scaler.pools: there is no pool %s in stack.pools" .) }}{{ end }}{{ end -}}
  {{- end -}}
  {{- if and $v.gateway.enabled (not $v.gateway.parentRefs) }}{{ fail "gateway.parentRefs: a route without a Gateway serves nobody" }}{{ end -}}
  {{- if $v.gateway.enabled -}}
    {{- $sum := 0 }}{{ range $v.stack.pools }}{{ $sum = add $sum (int .weight) }}{{ end -}}
    {{- if eq (int $sum) 0 }}{{ fail "stack.pools: all weights are 0, so the route would answer every request with 500" }}{{ end -}}
  {{- end -}}
{{- end -}}
{{- $ports := list (int $v.sidecar.port) (int $v.requestSidecar.port) (int $v.requestSidecar.adminPort) (int $v.stack.port) -}}
{{- if ne (len (uniq $ports)) 4 }}{{ fail "sidecar.port, requestSidecar.port, requestSidecar.adminPort, stack.port: two of them are the same, and they are of one pod" }}{{ end -}}
{{- if gt (int $v.scaler.min) (int $v.scaler.max) }}{{ fail "scaler.min: it is above scaler.max" }}{{ end -}}
{{- if and $v.scaler.fallbackReplicas (or (lt (int $v.scaler.fallbackReplicas) (int $v.scaler.min)) (gt (int $v.scaler.fallbackReplicas) (int $v.scaler.max))) }}{{ fail "scaler.fallbackReplicas: it must be between scaler.min and scaler.max" }}{{ end -}}
{{- if and (ne $v.scaler.kind "none") (ne $v.monitor.kind "none") (not (regexMatch "^([1-9]|1[0-5])s$|^[1-9][0-9]{0,3}ms$" $v.monitor.interval)) }}{{ fail "monitor.interval: the demand is computed over windows for a scrape every 15s or faster; with a longer interval make the rules with specwatch scale build --scrape" }}{{ end -}}
{{- if $v.fallback.enabled -}}
  {{- if and $v.fallback.act (eq $lever.kind "none") }}{{ fail "fallback.act: there is no lever to move; set fallback.lever.kind" }}{{ end -}}
  {{- if lt (len $v.fallback.levels) 2 }}{{ fail "fallback.levels: there is nothing to fall back to; name two at least" }}{{ end -}}
  {{- if and (eq $lever.health "request") (not $v.requestSidecar.enabled) (eq $v.mode "stack") }}{{ fail "fallback.lever.health=request: it reads series of the request sidecar, which is off; set requestSidecar.enabled or health=engine" }}{{ end -}}
  {{- if eq $lever.kind "pools" -}}
    {{- if eq $v.mode "stack" -}}
      {{- if not $v.gateway.enabled }}{{ fail "fallback.lever.kind=pools: it moves weights of an HTTPRoute; set gateway.enabled" }}{{ end -}}
      {{- range $v.fallback.levels }}{{ if not (hasKey $v.stack.pools .) }}{{ fail (printf "fallback.levels: there is no pool %s in stack.pools" .) }}{{ end }}{{ end -}}
      {{- if not $lever.force }}{{ fail "fallback.lever.force: Helm wrote the route's weights; set it to true, so that the controller may take them over" }}{{ end -}}
    {{- else -}}
      {{- if not $lever.route }}{{ fail "fallback.lever.route: name the HTTPRoute" }}{{ end -}}
      {{- range $v.fallback.levels }}{{ if not (hasKey $lever.services .) }}{{ fail (printf "fallback.lever.services: say the Service and port of %s" .) }}{{ end }}{{ end -}}
    {{- end -}}
  {{- else if eq $lever.kind "selector" -}}
    {{- if not (and $lever.service $lever.label) }}{{ fail "fallback.lever: selector needs service and label" }}{{ end -}}
    {{- range $v.fallback.levels }}{{ if not (hasKey $lever.values .) }}{{ fail (printf "fallback.lever.values: say the label's value of %s" .) }}{{ end }}{{ end -}}
  {{- else if eq $lever.kind "rollout" -}}
    {{- if not (and $lever.deployment $lever.container) }}{{ fail "fallback.lever: rollout needs deployment and container" }}{{ end -}}
    {{- range $v.fallback.levels }}{{ if not (hasKey $lever.arguments .) }}{{ fail (printf "fallback.lever.arguments: say the speculative arguments of %s, [] for none" .) }}{{ end }}{{ end -}}
  {{- end -}}
{{- end -}}
{{- if $v.slack.enabled -}}
  {{- if not $v.slack.channel }}{{ fail "slack.channel: say the ID of the channel" }}{{ end -}}
  {{- if not $v.slack.secretName }}{{ fail "slack.secretName: name the Secret with the key token; the chart makes none, so that no token gets into values" }}{{ end -}}
  {{- if and $v.slack.operators (not $v.slack.interactive) }}{{ fail "slack.operators: their buttons need slack.interactive" }}{{ end -}}
{{- end -}}
{{- end }}
