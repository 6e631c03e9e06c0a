"""Traffic classes from the text of a prompt: features, model file, training, evaluation."""
