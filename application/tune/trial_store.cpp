// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/tune/trial_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr int kTrialsVersion = 1;             // PRAGMA user_version
constexpr int kTrialsApplication = 0x506c54;  // PRAGMA application_id
constexpr double kLockSeconds = 15;

constexpr const char* kMakeTables = R"sql(
BEGIN IMMEDIATE;
CREATE TABLE tuning (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE trials (
  number INTEGER PRIMARY KEY, plan TEXT NOT NULL UNIQUE, why TEXT NOT NULL, job TEXT NOT NULL,
  state TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, predicted_s REAL NOT NULL,
  expected_s REAL NOT NULL, low_s REAL NOT NULL, high_s REAL NOT NULL,
  predicted_bytes INTEGER NOT NULL, steps INTEGER NOT NULL, step_s REAL NOT NULL,
  peak_bytes INTEGER NOT NULL, started REAL NOT NULL, ended REAL NOT NULL);
)sql";

constexpr const char* kColumns =
    "number, plan, why, job, state, outcome, reason, predicted_s, expected_s, low_s, high_s, "
    "predicted_bytes, steps, step_s, peak_bytes, started, ended";

class Statement {
 public:
  Statement(sqlite3* db, const std::string& sql) {
    code_ = sqlite3_prepare_v2(db, sql.c_str(), -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(const std::string& text) {
    sqlite3_bind_text(statement_, ++bound_, text.c_str(), -1, SQLITE_TRANSIENT);
  }
  void bind(double value) { sqlite3_bind_double(statement_, ++bound_, value); }
  void bind(std::int64_t value) { sqlite3_bind_int64(statement_, ++bound_, value); }
  // SQLITE_ROW, SQLITE_DONE or an error's code.
  int step() { return code_ != SQLITE_OK ? code_ : sqlite3_step(statement_); }

  void read(std::string& value) {
    const auto* text = sqlite3_column_text(statement_, column_++);
    value = text == nullptr ? "" : reinterpret_cast<const char*>(text);
  }
  void read(double& value) { value = sqlite3_column_double(statement_, column_++); }
  void read(std::int64_t& value) { value = sqlite3_column_int64(statement_, column_++); }
  void read(int& value) { value = sqlite3_column_int(statement_, column_++); }
  void next_row() { column_ = 0; }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int code_ = SQLITE_OK, bound_ = 0, column_ = 0;
};

template <class Value>
Value value_of(const std::string& word, Value last, const std::string& file) {
  for (int i = 0; i <= static_cast<int>(last); ++i)
    if (word == name_of(static_cast<Value>(i))) return static_cast<Value>(i);
  throw_config_error(ExitCode::bad_file, file, "trials", "'" + word + "' is no state of a trial");
}

// Waits for what a killed process has started: that takes milliseconds.
int locked(const std::string& file) {
  const std::string path = file + ".lock";
  // Without O_CLOEXEC: see TrialStore::lock.
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT, 0666);
  if (fd < 0) throw_config_error(ExitCode::device_or_io, path, "", std::strerror(errno));
  for (double waited = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited += 0.05) {
    if (errno != EWOULDBLOCK || waited >= kLockSeconds) {
      const std::string why =
          errno == EWOULDBLOCK ? "another process works on these trials" : std::strerror(errno);
      close(fd);
      throw_config_error(ExitCode::device_or_io, file, "", why, "wait for it, or end it");
    }
    usleep(50'000);
  }
  return fd;
}

}  // namespace

void TrialStore::Close::operator()(sqlite3* db) const { sqlite3_close(db); }

TrialStore::~TrialStore() {
  db_.reset();
  if (lock_ >= 0) close(lock_);
}

void TrialStore::fail(int code) const {
  const bool is_other = code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_SCHEMA ||
                        code == SQLITE_ERROR;
  throw_config_error(is_other ? ExitCode::bad_file : ExitCode::device_or_io, file_, "",
                     is_other ? "is no file of trials: " + std::string(sqlite3_errmsg(db_.get()))
                              : sqlite3_errmsg(db_.get()),
                     is_other ? "--trials-file with another name" : "");
}

void TrialStore::run(const char* sql) const {
  const int code = sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

void TrialStore::open(int flags) {
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(file_.c_str(), &db, flags, nullptr);
  db_.reset(db);
  if (code != SQLITE_OK) fail(code);
  sqlite3_busy_timeout(db, 5000);
}

void TrialStore::check_facts(const TuningFacts& facts) const {
  const auto pragma = [&](const char* name) {
    Statement s(db_.get(), std::string("PRAGMA ") + name);
    if (const int code = s.step(); code != SQLITE_ROW) fail(code);
    int value = 0;
    s.read(value);
    return value;
  };
  if (pragma("application_id") != kTrialsApplication) {
    throw_config_error(ExitCode::bad_file, file_, "", "is a database of another program",
                       "--trials-file with another name");
  }
  if (const int version = pragma("user_version"); version != kTrialsVersion) {
    throw_config_error(
        ExitCode::bad_file, file_, "",
        fmt::format("is of version {}, this Pleat reads {}", version, kTrialsVersion));
  }
  for (const auto& [name, value] : facts) {
    Statement s(db_.get(), "SELECT value FROM tuning WHERE name = ?");
    s.bind(name);
    std::string kept;
    if (s.step() == SQLITE_ROW) s.read(kept);
    if (kept == value) continue;
    throw_config_error(ExitCode::verification, file_, name,
                       fmt::format("its trials are of {}, not of {}", kept, value),
                       "--trials-file with another name");
  }
}

TrialStore::TrialStore(std::string file, const TuningFacts& facts) : file_(std::move(file)) {
  lock_ = locked(file_);
  try {
    const bool is_new = !std::filesystem::exists(file_) || std::filesystem::file_size(file_) == 0;
    open(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    if (is_new) {
      run(kMakeTables);
      for (const auto& [name, value] : facts) {
        Statement s(db_.get(), "INSERT INTO tuning VALUES (?, ?)");
        s.bind(name);
        s.bind(value);
        if (const int code = s.step(); code != SQLITE_DONE) fail(code);
      }
      run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT;",
                      kTrialsApplication, kTrialsVersion)
              .c_str());
    }
    check_facts(facts);
  } catch (...) {
    close(lock_);
    throw;
  }
}

std::vector<Trial> TrialStore::read(const std::string& file, const TuningFacts& facts) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return {};
  TrialStore store;
  store.file_ = file;
  store.open(SQLITE_OPEN_READWRITE);  // what a killed process began may have to be rolled back
  store.check_facts(facts);
  return store.trials();
}

std::vector<Trial> TrialStore::trials() const {
  Statement s(db_.get(), fmt::format("SELECT {} FROM trials ORDER BY number", kColumns));
  std::vector<Trial> all;
  int code = SQLITE_OK;
  while ((code = s.step()) == SQLITE_ROW) {
    Trial t;
    std::string state, outcome;
    s.next_row();
    s.read(t.number);
    for (std::string* text : {&t.plan, &t.why, &t.job, &state, &outcome, &t.reason}) s.read(*text);
    for (double* number : {&t.predicted, &t.expected, &t.low, &t.high}) s.read(*number);
    s.read(t.predicted_bytes);
    s.read(t.steps);
    s.read(t.seconds);
    s.read(t.bytes);
    s.read(t.started);
    s.read(t.ended);
    t.state = value_of(state, TrialState::over, file_);
    t.outcome = value_of(outcome, TrialOutcome::failed, file_);
    all.push_back(std::move(t));
  }
  if (code != SQLITE_DONE) fail(code);
  return all;
}

void TrialStore::put(const Trial& t) {
  Statement s(db_.get(),
              fmt::format("INSERT INTO trials ({}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON "
                          "CONFLICT (number) DO UPDATE SET job = excluded.job, state = "
                          "excluded.state, outcome = excluded.outcome, reason = excluded.reason, "
                          "steps = excluded.steps, step_s = excluded.step_s, peak_bytes = "
                          "excluded.peak_bytes, started = excluded.started, ended = excluded.ended",
                          kColumns));
  s.bind(std::int64_t{t.number});
  for (const std::string& text : {t.plan, t.why, t.job, std::string(name_of(t.state)),
                                  std::string(name_of(t.outcome)), t.reason})
    s.bind(text);
  for (const double number : {t.predicted, t.expected, t.low, t.high}) s.bind(number);
  s.bind(t.predicted_bytes);
  s.bind(std::int64_t{t.steps});
  s.bind(t.seconds);
  s.bind(t.bytes);
  s.bind(t.started);
  s.bind(t.ended);
  if (const int code = s.step(); code != SQLITE_DONE) fail(code);
}

void TrialStore::remove(int number) {
  Statement s(db_.get(), "DELETE FROM trials WHERE number = ?");
  s.bind(std::int64_t{number});
  if (const int code = s.step(); code != SQLITE_DONE) fail(code);
}

double TrialStore::seconds_used() const {
  Statement s(db_.get(), "SELECT value FROM tuning WHERE name = 'seconds used'");
  std::string text;
  if (s.step() == SQLITE_ROW) s.read(text);
  return text.empty() ? 0 : std::strtod(text.c_str(), nullptr);
}

void TrialStore::set_seconds_used(double seconds) {
  Statement s(db_.get(),
              "INSERT INTO tuning VALUES ('seconds used', ?) ON CONFLICT (name) DO UPDATE SET "
              "value = excluded.value");
  s.bind(fmt::format("{:.3f}", seconds));
  if (const int code = s.step(); code != SQLITE_DONE) fail(code);
}

}  // namespace pleat
