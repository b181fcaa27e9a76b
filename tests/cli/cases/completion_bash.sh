"$INQ" completion bash
