{{/* The stack's own pools and route stand for what was not named. */}}
{{- define "specwatch.route" -}}
{{- default (include "specwatch.fullname" .) .Values.fallback.lever.route -}}
{{- end }}

{{- define "specwatch.fallbackConfig" -}}
{{- $lever := .Values.fallback.lever -}}
model = {{ .Values.model.name | toJson }}
levels = {{ .Values.fallback.levels | toJson }}
audit_log = "/var/lib/specwatch/fallback.jsonl"
{{- with .Values.fallback.top }}
{{ . }}
{{- end }}

[source]
prometheus = {{ .Values.prometheus.url | toJson }}
match = 'namespace="{{ .Release.Namespace }}"'
{{- if ne $lever.kind "rollout" }}
level_label = "pool_level"
{{- end }}

[lever]
kind = {{ $lever.kind | toJson }}
{{- if ne $lever.kind "none" }}
namespace = {{ .Release.Namespace | toJson }}
health = {{ $lever.health | toJson }}
force = {{ $lever.force }}
{{- end }}
{{- if eq $lever.kind "pools" }}
route = {{ include "specwatch.route" . | toJson }}
{{- range $level := .Values.fallback.levels }}
{{- if eq $.Values.mode "stack" }}
services.{{ $level }} = "{{ include "specwatch.fullname" $ }}-{{ $level }}:{{ $.Values.stack.port }}"
{{- else }}
services.{{ $level }} = {{ index $lever.services $level | toJson }}
{{- end }}
{{- end }}
{{- else if eq $lever.kind "selector" }}
service = {{ $lever.service | toJson }}
label = {{ $lever.label | toJson }}
{{- range $level, $value := $lever.values }}
values.{{ $level }} = {{ $value | toJson }}
{{- end }}
{{- else if eq $lever.kind "rollout" }}
deployment = {{ $lever.deployment | toJson }}
container = {{ $lever.container | toJson }}
engine = {{ $lever.engine | toJson }}
{{- range $level, $arguments := $lever.arguments }}
arguments.{{ $level }} = {{ $arguments | toJson }}
{{- end }}
{{- end }}

[leader]
namespace = {{ .Release.Namespace | toJson }}
name = "{{ include "specwatch.fullname" . }}-fallback"
{{- with .Values.fallback.extra }}

{{ . | trim }}
{{- end }}
{{- end }}

{{- define "specwatch.fallbackRules" -}}
{{- $lever := .Values.fallback.lever -}}
{{- if eq $lever.kind "selector" }}
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
- apiGroups: [""]
  resources: [services]
  resourceNames: [{{ $lever.service }}]
  verbs: [get, patch]
{{- end }}
{{- if eq $lever.kind "rollout" }}
- apiGroups: [apps]
  resources: [deployments]
  resourceNames: [{{ $lever.deployment }}]
  verbs: [get, patch]
{{- end }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "specwatch.fullname" . }}-fallback]
  verbs: [get, update]
{{- if or (eq $lever.kind "pools") (eq $lever.kind "selector") }}
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list]
{{- end }}
{{- if eq $lever.kind "pools" }}
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes]
  resourceNames: [{{ include "specwatch.route" . }}]
  verbs: [get, patch]
{{- end }}
{{- end }}
