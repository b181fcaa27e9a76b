"$INQ"
