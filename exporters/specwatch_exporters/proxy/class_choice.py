"""A request's traffic class: the header, else the first rule, else the classifier, else `default`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Final

from specwatch_exporters.classes.class_name import DEFAULT
from specwatch_exporters.classes.classifier import Classifier
from specwatch_exporters.proxy.class_rules import Rule, Traits, key_digest
from specwatch_exporters.proxy.http_head import RequestHead
from specwatch_exporters.proxy.request_reading import RequestFacts
from specwatch_exporters.request_labels import class_label

CLASS_HEADER: Final = b"x-specwatch-class"
_MAX_PENDING: Final = 64


class ClassChoice:
    """Chooses classes.

    The classifier runs in an executor, so that the event loop only waits for the interpreter's lock; with 64
    prompts waiting, a further one is `default`.

    Args:
        rules: in order.
        classifier: for what no rule covers, or None.
        executor: runs the classifier.
        on_busy: called when the classifier could not take a prompt.
    """

    def __init__(
        self,
        rules: Sequence[Rule] = (),
        classifier: Classifier | None = None,
        executor: Executor | None = None,
        on_busy: Callable[[], None] = lambda: None,
    ) -> None:
        self._rules = rules
        self._classifier = classifier
        self._executor = executor
        self._on_busy = on_busy
        self._pending = 0
        self._needs_key = any(rule.key_digest is not None for rule in rules)

    def choose(self, head: RequestHead, facts: RequestFacts | None, then: Callable[[str], None]) -> None:
        """Find the class and call `then` with it: now, or soon if the classifier is asked.

        Args:
            head: of the request.
            facts: what its body says, or None if it was not read.
            then: receives the name, in the event loop's thread.
        """
        known = self._by_header(head) or self._by_rule(head, facts or RequestFacts())
        text = "" if facts is None else facts.text
        if known is None and text and self._classifier is not None:
            if self._pending < _MAX_PENDING:
                self._ask(self._classifier, text, then)
                return
            self._on_busy()
        then(known or DEFAULT)

    def _by_header(self, head: RequestHead) -> str | None:
        given = head.headers.get(CLASS_HEADER)
        return None if given is None else class_label(given.decode("latin-1")) or None

    def _by_rule(self, head: RequestHead, facts: RequestFacts) -> str | None:
        if not self._rules:
            return None
        digest = None
        if self._needs_key:
            digest = key_digest(head.headers.get(b"authorization"), head.headers.get(b"x-api-key"))
        traits = Traits(head.path, facts.model, facts.lora, digest)
        return next((rule.traffic_class for rule in self._rules if rule.fits(traits)), None)

    def _ask(self, classifier: Classifier, text: str, then: Callable[[str], None]) -> None:
        self._pending += 1
        future = asyncio.get_running_loop().run_in_executor(self._executor, classifier.classify, text)

        def done(answer: asyncio.Future[str]) -> None:
            self._pending -= 1
            failed = answer.cancelled() or answer.exception() is not None
            then(DEFAULT if failed else answer.result())

        future.add_done_callback(done)
