"$INQ" analyze -f markdown bad_job/rank_0.log bad_job/torchrun.log
