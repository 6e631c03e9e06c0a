{{/* Metadata of a part's objects. Call it with a dict: root, part. */}}
{{- define "specwatch.partMeta" -}}
name: {{ include "specwatch.fullname" .root }}-{{ .part }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "specwatch.labels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "specwatch.partSelector" -}}
{{ include "specwatch.selector" .root }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{/* Pod metadata of a part; its labels are the selector's and the chart's. */}}
{{- define "specwatch.partPodMeta" -}}
labels:
  {{- include "specwatch.labels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .part }}
{{- end }}

{{/* What all of our containers have. */}}
{{- define "specwatch.partContainer" -}}
image: {{ include "specwatch.ownImage" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
env:
  - name: HOME
    value: /tmp
securityContext:
  {{- include "specwatch.containerSecurity" .root | nindent 2 }}
startupProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 3
  failureThreshold: 40
livenessProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 20
  failureThreshold: 3
{{- end }}

{{- define "specwatch.claim" -}}
accessModes: [ReadWriteOnce]
{{- with .className }}
storageClassName: {{ . }}
{{- end }}
resources:
  requests:
    storage: {{ .size }}
{{- end }}

{{/* Fails unless the cluster knows an API. Call it with a dict: root, api, what, instead. */}}
{{- define "specwatch.needs" -}}
{{- if not (.root.Capabilities.APIVersions.Has .api) -}}
{{- fail (printf "%s needs the API %s, which this cluster does not have: %s. For helm template, say --api-versions %s" .what .api .instead .api) -}}
{{- end -}}
{{- end }}
