# target_sources(pleat_core PRIVATE …) of core/spec
target_sources(pleat_core PRIVATE)
