"""Read speculative-decoding engines and export one schema."""
