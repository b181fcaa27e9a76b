"$INQ" --version | head -1
