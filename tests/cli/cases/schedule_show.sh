"$INQ" schedule show --make 1f1b -p 4 -m 8
"$INQ" schedule show --make gpipe -p 4 -m 8 --at S3:F1:end
