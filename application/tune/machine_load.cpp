// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/tune/machine_load.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <string>

namespace pleat {
namespace {

struct CoreTimes {
  double busy = 0, all = 0;  // seconds
};

// The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal, in ticks.
CoreTimes core_times() {
  std::ifstream file("/proc/stat");
  std::string label;
  CoreTimes t;
  if (!(file >> label) || label != "cpu") return t;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  for (int i = 0; i < 8; ++i) {
    double value = 0;
    if (!(file >> value)) return {};
    t.all += value / ticks;
    if (i != 3 && i != 4) t.busy += value / ticks;
  }
  return t;
}

}  // namespace

double process_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

MachineLoad::MachineLoad() {
  const CoreTimes now = core_times();
  busy_ = now.busy;
  all_ = now.all;
  own_ = process_seconds();
}

double MachineLoad::of_others() const {
  const CoreTimes now = core_times();
  const double all = now.all - all_;
  if (all <= 0) return 0;
  return std::clamp((now.busy - busy_ - (process_seconds() - own_)) / all, 0.0, 1.0);
}

}  // namespace pleat
