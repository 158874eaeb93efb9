# target_sources(pleat_core PRIVATE …) of core/program
target_sources(pleat_core PRIVATE)
