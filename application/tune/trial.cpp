// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/tune/trial.hpp"

#include "core/diagnostics.hpp"

namespace pleat {

const char* name_of(TrialState s) {
  switch (s) {
    case TrialState::starting:
      return "starting";
    case TrialState::running:
      return "running";
    case TrialState::over:
      return "over";
  }
  PLEAT_ASSERT(false);
}

const char* name_of(TrialOutcome o) {
  switch (o) {
    case TrialOutcome::none:
      return "none";
    case TrialOutcome::measured:
      return "measured";
    case TrialOutcome::behind:
      return "behind";
    case TrialOutcome::out_of_memory:
      return "out of memory";
    case TrialOutcome::hung:
      return "hung";
    case TrialOutcome::cancelled:
      return "cancelled";
    case TrialOutcome::never_started:
      return "never started";
    case TrialOutcome::cut_off:
      return "cut off";
    case TrialOutcome::failed:
      return "failed";
  }
  PLEAT_ASSERT(false);
}

}  // namespace pleat
