"""Load of two traffic classes on a real engine, whose mix can be changed while it runs."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Self

from engine.completions_client import completion_request
from engine.engine_process import MODEL_NAME

CLIENTS = 12
CLASS_HEADER = "x-specwatch-class"


class ClassLoad:
    """Clients that send prompts of a drawn class one after the other; a context manager.

    Args:
        url: where to send them.
        prompts: by class.
        seed: of the draws.
    """

    def __init__(self, url: str, prompts: Mapping[str, Sequence[str]], seed: int = 1) -> None:
        self._url = url
        self._prompts = prompts
        self._weights = dict.fromkeys(prompts, 1.0)
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._client, args=(seed + n,)) for n in range(CLIENTS)]
        self.answered = 0
        self.broken = 0

    def mix(self, **weights: float) -> None:
        """Draw classes with these weights from now on."""
        self._weights = weights

    def _client(self, seed: int) -> None:
        dice = random.Random(seed)
        while not self._stop.is_set():
            names = list(self._weights)
            name = dice.choices(names, [self._weights[one] for one in names])[0]
            try:
                self._send(dice.choice(self._prompts[name]), name)
                self.answered += 1
            except (OSError, http.client.HTTPException):
                self.broken += 1
                time.sleep(0.2)

    def _send(self, prompt: str, name: str) -> None:
        request = urllib.request.Request(
            f"{self._url}/v1/completions",
            data=json.dumps(completion_request(MODEL_NAME, prompt)).encode(),
            headers={"Content-Type": "application/json", CLASS_HEADER: name},
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            response.read()

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
