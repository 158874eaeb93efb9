# target_sources(pleat_core PRIVATE …) of core/plan
target_sources(pleat_core PRIVATE)
