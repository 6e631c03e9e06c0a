{{/* Labels of the pods that carry the sidecars. */}}
{{- define "specwatch.engineSelector" -}}
{{- if eq .Values.mode "stack" -}}
{{ include "specwatch.partSelector" (dict "root" . "part" "engine") }}
{{- else -}}
{{ toYaml .Values.target.podLabels }}
{{- end -}}
{{- end }}

{{/* Container port that clients are led to. */}}
{{- define "specwatch.clientPort" -}}
{{- ternary .Values.requestSidecar.port .Values.stack.port .Values.requestSidecar.enabled -}}
{{- end }}

{{/* vLLM's arguments. Call it with a dict: root, pool. */}}
{{- define "specwatch.engineArguments" -}}
{{- $stack := .root.Values.stack -}}
- {{ $stack.weights | quote }}
- --served-model-name={{ .root.Values.model.name }}
- --port={{ $stack.port }}
- --tensor-parallel-size={{ $stack.gpu.count }}
- --max-num-seqs={{ .root.Values.scaler.slots }}
- --max-model-len={{ int $stack.maxModelLen }}
- --gpu-memory-utilization={{ $stack.gpuMemoryUtilization }}
- --shutdown-timeout={{ $stack.shutdownSeconds }}
{{- with $stack.quantization }}
- --quantization={{ . }}
{{- end }}
{{- with .pool.speculation }}
- --speculative-config
- {{ toJson . | squote }}
{{- end }}
{{- if .root.Values.requestSidecar.enabled }}
- --per-request-spec-decode-metrics=detailed
- --enable-per-request-metrics
{{- end }}
{{- range $stack.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}
