# target_sources(pleat_core PRIVATE …) of core/trace
target_sources(pleat_core PRIVATE)
