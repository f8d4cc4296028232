"""Language models with eyes, behind any endpoint that speaks OpenAI's chat completions."""
