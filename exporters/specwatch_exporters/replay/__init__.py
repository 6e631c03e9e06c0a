"""A small server that behaves as a speculative vLLM V1 (0.32) does, without a GPU, for demos and tests.

`engine.ReplayEngine` is the server, `thread.ReplayThread` the same for synchronous callers, `scheduler.Scheduler`
the engine on simulated time. Counting rules, page and bodies are those of a running vLLM 0.32.0; step times
are measured (`profiles`); acceptance is drawn (`chain`, `traffic_classes`).

Left out: prefix-cache hits, more than one engine or sequence per request, LoRA, structured output, stop
strings, log probabilities. Families that belong to them stay at 0. Slots and live K can be changed while it
runs, which a real engine cannot; method, profile, model and configured K take a restart, as they do there.
"""
