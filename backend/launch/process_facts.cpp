// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/launch/process_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr int kDefaultPort = 29500;  // torchrun's

[[noreturn]] void refuse(const std::string& where, const std::string& message,
                         const std::string& hint) {
  throw_config_error(ExitCode::bad_request, where, "", message, hint);
}

// A launcher's words for the same four numbers; null: it has none.
struct Words {
  Launcher launcher;
  const char* process;
  const char* processes;
  const char* local;
  const char* local_processes;
};
constexpr Words kWords[] = {
    {Launcher::torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {Launcher::open_mpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {Launcher::pmix, "PMIX_RANK", nullptr, nullptr, nullptr},
    {Launcher::pmi, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {Launcher::slurm, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr},
};

class Reader {
 public:
  explicit Reader(const Variables& variables) : variables_(variables) {}

  [[nodiscard]] std::optional<std::string> text(const char* name) const {
    if (name == nullptr) return std::nullopt;
    std::optional<std::string> value = variables_(name);
    if (value && value->empty()) return std::nullopt;
    return value;
  }

  [[nodiscard]] std::optional<int> number(const char* name) const {
    const std::optional<std::string> value = text(name);
    if (!value) return std::nullopt;
    const bool digits = value->size() <= 8 && std::all_of(value->begin(), value->end(), [](char c) {
                          return c >= '0' && c <= '9';
                        });
    if (!digits) refuse(name, fmt::format("'{}' is no number", *value), "unset it, or correct it");
    return std::stoi(*value);
  }

 private:
  const Variables& variables_;
};

struct SaidFacts {
  ProcessFacts facts;
  std::string process_word, processes_word;  // as they are typed, for messages
};

void check_place(const SaidFacts& s, const std::string& local_word,
                 const std::string& locals_word) {
  const ProcessFacts& f = s.facts;
  if (f.processes < 1 || f.process >= f.processes) {
    refuse(s.process_word,
           fmt::format("{}={} contradicts {}={}", s.process_word, f.process, s.processes_word,
                       f.processes),
           fmt::format("processes count from 0: {} is below {}", s.process_word, s.processes_word));
  }
  if (f.local >= 0 && f.local_processes >= 0 && f.local >= f.local_processes) {
    refuse(
        local_word,
        fmt::format("{}={} contradicts {}={}", local_word, f.local, locals_word, f.local_processes),
        "they count the processes of one host");
  }
  if (f.local_processes > f.processes) {
    refuse(locals_word,
           fmt::format("{}={} contradicts {}={}", locals_word, f.local_processes, s.processes_word,
                       f.processes),
           "a host has no more processes than the job");
  }
}

// What one launcher says; nullopt if it says nothing.
std::optional<SaidFacts> ask(const Words& w, const Reader& read) {
  const std::optional<int> process = read.number(w.process);
  // Outside of a step (in a batch script, say) Slurm's variables speak of the allocation.
  if (w.launcher == Launcher::slurm && !read.text("SLURM_STEP_ID")) return std::nullopt;
  std::string processes_word = w.processes != nullptr ? w.processes : "";
  std::optional<int> processes = read.number(w.processes);
  const auto ask_for_size = [&](const char* name) {
    if (processes) return;
    processes = read.number(name);
    processes_word = name;
  };
  if (w.launcher == Launcher::slurm) ask_for_size("SLURM_NTASKS");
  if (w.launcher == Launcher::pmix && process) {  // PMIx tells the size only to who speaks it
    ask_for_size("PMI_SIZE");
    ask_for_size("SLURM_NTASKS");
    if (!processes) return std::nullopt;
  }
  if (!process && !processes) return std::nullopt;
  if (!process || !processes) {
    const std::string missing = process ? processes_word : w.process;
    const std::string there = process ? w.process : processes_word;
    refuse(missing, fmt::format("{} is set, but {} is not", there, missing),
           "a launcher sets both; unset the one, or set the other");
  }
  SaidFacts s;
  s.facts.launcher = w.launcher;
  s.facts.process = *process;
  s.facts.processes = *processes;
  s.facts.local = read.number(w.local).value_or(-1);
  s.facts.local_processes = read.number(w.local_processes).value_or(-1);
  s.process_word = w.process;
  s.processes_word = processes_word;
  s.facts.from = fmt::format("{}={}, {}={}", w.process, *process, processes_word, *processes);
  check_place(s, w.local != nullptr ? w.local : "",
              w.local_processes != nullptr ? w.local_processes : "");
  return s;
}

std::optional<SaidFacts> ask_flags(const ProcessFlags& flags) {
  if (flags.process.empty()) return std::nullopt;
  const std::size_t slash = flags.process.find('/');
  const auto part = [&](std::size_t from, std::size_t to) -> std::optional<int> {
    const std::string text = flags.process.substr(from, to - from);
    const bool digits = !text.empty() && text.size() <= 8 &&
                        text.find_first_not_of("0123456789") == std::string::npos;
    return digits ? std::optional(std::stoi(text)) : std::nullopt;
  };
  const std::optional<int> process = slash == std::string::npos ? std::nullopt : part(0, slash);
  const std::optional<int> processes =
      slash == std::string::npos ? std::nullopt : part(slash + 1, flags.process.size());
  if (!process || !processes || *process >= *processes) {
    refuse("--process", fmt::format("'{}' is no place among processes", flags.process),
           "--process 2/4 is the third of four");
  }
  SaidFacts s;
  s.facts.launcher = Launcher::flags;
  s.facts.process = *process;
  s.facts.processes = *processes;
  s.facts.from = "--process " + flags.process;
  s.process_word = s.processes_word = "--process";
  return s;
}

// A launcher starts at least one process for each that started it, so an inner job that is smaller
// than an outer one has several processes in one place: a variable is left over from elsewhere.
void check_nesting(const SaidFacts& inner, const SaidFacts& outer, const Reader& read) {
  const ProcessFacts &i = inner.facts, &o = outer.facts;
  const char* const hint = "one of them is left over from elsewhere: unset it";
  if (i.processes < o.processes) {
    refuse(inner.processes_word,
           fmt::format("{} says {} processes, {} says {}", inner.processes_word, i.processes,
                       outer.processes_word, o.processes),
           hint);
  }
  // torchrun numbers its nodes as they come; whoever copies one variable to another does not.
  const bool may_differ = i.launcher == Launcher::torchrun && read.text("TORCHELASTIC_RUN_ID");
  if (i.processes == o.processes && i.process != o.process && !may_differ) {
    refuse(inner.process_word,
           fmt::format("{} says process {}, {} says {}", inner.process_word, i.process,
                       outer.process_word, o.process),
           hint);
  }
}

void find_rendezvous(const ProcessFlags& flags, const Reader& read, ProcessFacts& f) {
  if (!flags.rendezvous.empty()) {
    try {
      f.rendezvous = parse_address(flags.rendezvous);
    } catch (const std::runtime_error& e) {
      refuse("--rendezvous", e.what(), "the host and a free port of process 0: node1:29500");
    }
    f.rendezvous_from = "--rendezvous";
    return;
  }
  const std::optional<std::string> host = read.text("MASTER_ADDR");
  const std::optional<int> port = read.number("MASTER_PORT");
  if (port && (*port < 1 || *port > 65535)) {
    refuse("MASTER_PORT", fmt::format("{} is no port", *port), "1 to 65535");
  }
  f.rendezvous = Address{"", port.value_or(kDefaultPort)};
  if (host) {
    f.rendezvous->host = *host;
    f.rendezvous_from = port ? "MASTER_ADDR, MASTER_PORT" : "MASTER_ADDR";
    // torchrun's own store listens at the port itself.
    if (read.text("TORCHELASTIC_USE_AGENT_STORE") == "True") {
      ++f.rendezvous->port;
      f.rendezvous_from += " + 1";
    }
  } else if (const auto nodes = read.text("SLURM_STEP_NODELIST");
             nodes && read.text("SLURM_STEP_ID")) {
    f.rendezvous->host = first_host(*nodes);
    f.rendezvous_from = "SLURM_STEP_NODELIST";
  } else if (const auto job = read.text("SLURM_JOB_NODELIST"); job && read.text("SLURM_STEP_ID")) {
    f.rendezvous->host = first_host(*job);
    f.rendezvous_from = "SLURM_JOB_NODELIST";
  } else if (f.processes > 1 && f.local_processes == f.processes) {
    f.rendezvous->host = "127.0.0.1";
    f.rendezvous_from = "one host";
  } else {
    f.rendezvous.reset();
  }
}

}  // namespace

std::string name_of(Launcher l) {
  switch (l) {
    case Launcher::flags:
      return "flags";
    case Launcher::torchrun:
      return "torchrun";
    case Launcher::open_mpi:
      return "Open MPI";
    case Launcher::pmix:
      return "PMIx";
    case Launcher::pmi:
      return "PMI";
    case Launcher::slurm:
      return "Slurm";
    case Launcher::none:
      return "no launcher";
  }
  return "";
}

std::string first_host(const std::string& node_list) {
  std::string host;
  for (std::size_t i = 0; i < node_list.size() && node_list[i] != ','; ++i) {
    if (node_list[i] != '[') {
      host += node_list[i];
      continue;
    }
    const std::size_t close = std::min(node_list.find(']', i), node_list.size());
    host += node_list.substr(i + 1, std::min(node_list.find_first_of(",-", i), close) - i - 1);
    i = close;
  }
  return host;
}

ProcessFacts process_facts(const ProcessFlags& flags, const Variables& variables) {
  const Reader read(variables);
  std::vector<SaidFacts> said;  // innermost first
  if (auto s = ask_flags(flags)) said.push_back(std::move(*s));
  bool open_mpi = false;
  for (const Words& w : kWords) {
    if (w.launcher == Launcher::pmix && open_mpi) continue;  // Open MPI's own
    auto s = ask(w, read);
    if (!s) continue;
    open_mpi = open_mpi || w.launcher == Launcher::open_mpi;
    said.push_back(std::move(*s));
  }
  const auto mpi = std::find_if(said.begin(), said.end(), [](const SaidFacts& s) {
    return s.facts.launcher == Launcher::open_mpi;
  });
  // Slurm may be anywhere outside, with numbers of its own: of nodes, of another step.
  for (std::size_t i = 1; i < said.size(); ++i) {
    if (said[i].facts.launcher != Launcher::slurm) check_nesting(said[0], said[i], read);
  }
  ProcessFacts facts;
  if (!said.empty()) facts = said.front().facts;
  facts.under_open_mpi = mpi != said.end() && mpi->facts.process == facts.process &&
                         mpi->facts.processes == facts.processes;
  if (facts.local < 0 && facts.under_open_mpi) {
    facts.local = mpi->facts.local;
    facts.local_processes = mpi->facts.local_processes;
  }
  find_rendezvous(flags, read, facts);
  return facts;
}

std::string to_text(const ProcessFacts& f) {
  if (f.launcher == Launcher::none) return "one process (no launcher)";
  std::string text =
      fmt::format("process {} of {} ({}: {})", f.process, f.processes, name_of(f.launcher), f.from);
  if (f.rendezvous && f.processes > 1) {
    text += fmt::format(", meeting at {} ({})", to_text(*f.rendezvous), f.rendezvous_from);
  }
  return text;
}

}  // namespace pleat
