# what is no trace is called by its name, with what to do about it; a log with holes is read
mkdir odd
tar -cf odd/both.tar ok_two_ranks
printf "\037\213\010" | gzip -n >odd/twice.json.gz
printf '\377\376i\0t\0e\0r\0' >odd/powershell.log
printf '\001\002\377\000\000\003abc' >odd/report.nsys-rep
printf 'step 1 loss 2.0\n\0\0\0\0\0\0\0\0[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n' >odd/holes.log
"$INQ" info odd
"$INQ" analyze odd | head -2
