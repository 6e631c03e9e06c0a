{{/*
Native sidecars for a pod with an engine: items of initContainers. `specwatch inject` adds the same to a manifest.
Call it with a dict: root (.), enginePort, method (as the engine is configured, or "").
*/}}
{{- define "specwatch.sidecars" -}}
{{- $values := .root.Values -}}
- name: specwatch
  image: {{ include "specwatch.ownImage" .root }}
  imagePullPolicy: {{ $values.image.pullPolicy }}
  restartPolicy: Always
  args:
    - exporter
    - run
    - --engine=http://127.0.0.1:{{ .enginePort }}
    - --listen=:{{ $values.sidecar.port }}
    - --interval={{ $values.sidecar.interval }}
    - --drift-state=/var/lib/specwatch/drift.json
    {{- with .method }}
    - --speculation-method={{ . }}
    {{- end }}
    {{- with $values.sidecar.payoffProfile }}
    - --payoff-profile={{ . }}
    {{- end }}
    {{- if $values.requestSidecar.enabled }}
    - --request-metrics=http://127.0.0.1:{{ $values.requestSidecar.adminPort }}/metrics
    {{- end }}
    - --log-level={{ $values.sidecar.logLevel }}
  ports:
    - name: specwatch
      containerPort: {{ $values.sidecar.port }}
  startupProbe:
    httpGet: {path: /healthz, port: specwatch}
    periodSeconds: 2
    failureThreshold: 30
  livenessProbe:
    httpGet: {path: /healthz, port: specwatch}
    periodSeconds: 20
    failureThreshold: 3
  resources:
    {{- toYaml $values.sidecar.resources | nindent 4 }}
  securityContext:
    {{- include "specwatch.sidecarSecurity" . | nindent 4 }}
  volumeMounts:
    - name: specwatch-state
      mountPath: /var/lib/specwatch
{{- if $values.requestSidecar.enabled }}
- name: specwatch-requests
  image: {{ include "specwatch.ownImage" .root }}
  imagePullPolicy: {{ $values.image.pullPolicy }}
  restartPolicy: Always
  args:
    - proxy
    - run
    - --upstream=http://127.0.0.1:{{ .enginePort }}
    - --listen=:{{ $values.requestSidecar.port }}
    - --admin-listen=:{{ $values.requestSidecar.adminPort }}
    - --drain={{ $values.requestSidecar.drainSeconds }}s
    {{- with .method }}
    - --speculation-method={{ . }}
    {{- end }}
    - --classifier={{ $values.requestSidecar.classifier }}
    - --log-level={{ $values.sidecar.logLevel }}
  ports:
    - name: requests
      containerPort: {{ $values.requestSidecar.port }}
    - name: specwatch-req
      containerPort: {{ $values.requestSidecar.adminPort }}
  startupProbe:
    httpGet: {path: /healthz, port: specwatch-req}
    periodSeconds: 2
    failureThreshold: 30
  readinessProbe:
    httpGet: {path: /readyz, port: specwatch-req}
    periodSeconds: 5
  livenessProbe:
    httpGet: {path: /healthz, port: specwatch-req}
    periodSeconds: 20
    failureThreshold: 3
  resources:
    {{- toYaml $values.requestSidecar.resources | nindent 4 }}
  securityContext:
    {{- include "specwatch.sidecarSecurity" . | nindent 4 }}
{{- end }}
{{- end }}

{{/* The volume of the sidecars: an item of volumes. */}}
{{- define "specwatch.sidecarVolumes" -}}
- name: specwatch-state
  emptyDir:
    sizeLimit: 64Mi
{{- end }}

{{/* In somebody else's pod the container brings all of its own. */}}
{{- define "specwatch.sidecarSecurity" -}}
{{ include "specwatch.containerSecurity" . }}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end }}
