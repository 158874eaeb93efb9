# target_sources(pleat_core PRIVATE …) of core/json
target_sources(pleat_core PRIVATE)
