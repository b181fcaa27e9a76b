mkdir empty; "$INQ" info empty
