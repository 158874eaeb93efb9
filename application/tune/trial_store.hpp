// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The trials of one tuning in one SQLite file. Every change is on disk before the call returns, so
// a tuning that was killed goes on where it was.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "application/tune/trial.hpp"

struct sqlite3;

namespace pleat {

// What is tuned, in words: trials of something else are no use.
using TuningFacts = std::vector<std::pair<std::string, std::string>>;

class TrialStore {
 public:
  // Opens the file or makes it. ConfigError: bad_file for one that is no file of trials or of a
  // newer Pleat, verification for one of another tuning, device_or_io for what cannot be written,
  // and for a file that another process works on.
  TrialStore(std::string file, const TuningFacts&);
  // What a file has; no trials where there is none. Neither makes it nor changes what it says.
  [[nodiscard]] static std::vector<Trial> read(const std::string& file, const TuningFacts&);

  [[nodiscard]] std::vector<Trial> trials() const;  // by number
  void put(const Trial&);                           // a new one, or what became of it
  void remove(int number);                          // one that was not started after all
  [[nodiscard]] double seconds_used() const;        // of the budget, over all processes so far
  void set_seconds_used(double);

  // Held while this object lives, and by what it started until that has said who it is (local jobs
  // write a file, sbatch ends): whoever has it next knows all jobs that were started.
  [[nodiscard]] int lock() const { return lock_; }
  ~TrialStore();
  TrialStore(const TrialStore&) = delete;
  TrialStore& operator=(const TrialStore&) = delete;

 private:
  struct Close {
    void operator()(sqlite3*) const;
  };
  TrialStore() = default;
  void open(int flags);
  void check_facts(const TuningFacts&) const;
  void run(const char* sql) const;
  [[noreturn]] void fail(int code) const;

  std::string file_;
  int lock_ = -1;
  std::unique_ptr<sqlite3, Close> db_;
};

}  // namespace pleat
