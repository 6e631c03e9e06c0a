{{/* Workloads that follow the demand, one name a line. */}}
{{- define "specwatch.scaled" -}}
{{- if eq .Values.mode "stack" -}}
{{- range .Values.scaler.pools }}{{ include "specwatch.fullname" $ }}-{{ . }}
{{ end -}}
{{- else -}}
{{ .Values.target.name }}
{{- end -}}
{{- end }}

{{/* Recording rules of the demand: the file that `specwatch scale build` made, with this release's values in it. */}}
{{- define "specwatch.scaleRules" -}}
{{- .Files.Get (printf "files/scale/%s.yaml" .Values.rules.source)
  | replace "@namespace@" .Release.Namespace
  | replace "@model@" .Values.model.name
  | replace "@capacity@" (mulf .Values.scaler.slots .Values.scaler.targetUse | toString)
  | replace "@drain@" (toString .Values.scaler.drainSeconds)
  | replace "@wait@" (toString .Values.scaler.waitSloSeconds)
  | replace "@kv@" (toString .Values.scaler.kvLimit) -}}
{{- end }}

{{/* Quickly up, slowly down: who takes a pod away too early pays its start again. */}}
{{- define "specwatch.scaleBehavior" -}}
{{- $start := int .Values.scaler.startUpSeconds -}}
scaleUp:
  stabilizationWindowSeconds: 0
  selectPolicy: Max
  policies:
    - {type: Pods, value: 4, periodSeconds: 15}
    - {type: Percent, value: 100, periodSeconds: 15}
scaleDown:
  stabilizationWindowSeconds: {{ min 1800 (max 180 (mul 3 $start)) }}
  selectPolicy: Max
  policies:
    - {type: Percent, value: 50, periodSeconds: {{ min 1800 (max 60 $start) }}}
{{- end }}

{{- define "specwatch.scaleTarget" -}}
apiVersion: {{ ternary "leaderworkerset.x-k8s.io/v1" "apps/v1" (and (eq .root.Values.mode "sidecar") (eq .root.Values.target.kind "LeaderWorkerSet")) }}
kind: {{ ternary .root.Values.target.kind "Deployment" (eq .root.Values.mode "sidecar") }}
name: {{ .name }}
{{- end }}
