"""What surrounds a request whatever its class: greetings, system lines, chat templates, how to answer.

Every class is framed alike, so that the frame tells nothing.
"""

from __future__ import annotations

from random import Random

_BEFORE = (
    *("Hi, ", "Hello! ", "Hey, ", "Please help. ", "Quick question: ", "Question: ", "Task: ", "User: ", "Q: "),
    *("You are a helpful assistant.\n\n", "System: You are a helpful and honest assistant.\nUser: "),
    *("### Instruction:\n", "<|im_start|>user\n", "[INST] ", "Below is an instruction. Respond to it.\n\n"),
    *("I have a question.\n", "Could you help me with this?\n", "I am not sure how to do this. "),
)
_AFTER = (
    *(" Thanks!", " Thank you.", "\nThink step by step.", " Let's think step by step.", " Please be brief."),
    *("\nAnswer:", "\nA:", "\n\n### Response:\n", " [/INST]", "<|im_end|>\n<|im_start|>assistant\n", " ?", "!"),
    *(
        "\nExplain your answer.",
        "\nKeep it short.",
        " I need it today.",
        "\n\nAnswer in English.",
        " Any help is welcome.",
    ),
)


def framed(text: str, rng: Random) -> str:
    """Leave most prompts as they are, put something before or after the others."""
    if rng.random() < 0.2:
        text = rng.choice(_BEFORE) + text
    if rng.random() < 0.2:
        text += rng.choice(_AFTER)
    elif rng.random() < 0.15:
        text = text.rstrip(".?!")
    return text
