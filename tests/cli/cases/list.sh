# Nsight exports are read only where sqlite was built in, GPUs used only with their engine
"$INQ" list | grep -v '^  nsys ' | sed 's/ (not built)$//'
