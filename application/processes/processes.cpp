// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/processes/processes.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "backend/comm/mpi_job.hpp"
#include "backend/launch/find_job_secret.hpp"
#include "core/diagnostics.hpp"
#include "core/environment.hpp"

namespace pleat {
namespace {

[[noreturn]] void refuse(const char* where, const std::string& message, const std::string& hint) {
  throw_config_error(ExitCode::bad_request, where, "", message, hint);
}

std::string plural(int count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

int split(int world, int processes, const char* where) {
  if (world % processes != 0 || processes > world) {
    refuse(where,
           fmt::format("the plan's {} do not split over {}", plural(world, "rank", "ranks"),
                       plural(processes, "process", "processes")),
           "start as many processes as ranks, or give each its --ranks");
  }
  return world / processes;
}

// No launcher: all ranks here, or processes that this one starts.
ProcessChoice alone(const ProcessOptions& o, int world) {
  ProcessChoice c;
  const bool apart =
      o.transport == "tcp" || (o.transport == "auto" && o.ranks > 0 && o.ranks != world);
  c.ranks = o.ranks > 0 ? o.ranks : apart ? 1 : world;
  if (o.transport == "threads" && c.ranks != world) {
    refuse("--ranks",
           fmt::format("{} contradicts --transport threads: the plan's {} are all in one process",
                       c.ranks, plural(world, "rank", "ranks")),
           "leave --ranks out, or use --transport tcp");
  }
  if (c.ranks > world || world % c.ranks != 0) {
    refuse("--ranks",
           fmt::format("the plan's {} do not split into processes of {}",
                       plural(world, "rank", "ranks"), c.ranks),
           "a divisor of the plan's ranks");
  }
  c.processes = world / c.ranks;
  c.spread = c.processes == 1 ? Spread::threads : Spread::spawn;
  return c;
}

// The socket at which process 0 is to listen, if this process's starter made it.
Socket inherited_listener() {
  const auto number = environment_variable("PLEAT_LISTENER");
  return number ? Socket(std::atoi(number->c_str())) : Socket();
}

}  // namespace

ProcessChoice choose_processes(const ProcessOptions& o, const ProcessFacts& facts, int world,
                               bool has_mpi) {
  if (o.transport == "mpi" && !has_mpi) {
    refuse("--transport", "this build has no MPI",
           "install libopenmpi-dev and configure again, or use tcp");
  }
  if (facts.launcher == Launcher::none) {
    if (o.transport == "mpi") {
      refuse("--transport", "mpi needs a launcher, and none started this process",
             fmt::format("mpirun -n {} pleat train …", world));
    }
    return alone(o, world);
  }
  ProcessChoice c;
  c.facts = facts;
  c.processes = facts.processes;
  if (o.transport == "threads" && c.processes > 1) {
    refuse("--transport",
           fmt::format("threads contradicts {}: each of {} processes would train the whole job",
                       facts.from, c.processes),
           "leave --transport out");
  }
  c.ranks = o.ranks > 0 ? o.ranks : split(world, c.processes, "--gpus");
  const bool mpi =
      o.transport == "mpi" || (o.transport == "auto" && facts.under_open_mpi && has_mpi);
  c.spread = mpi ? Spread::mpi : c.processes == 1 ? Spread::threads : Spread::tcp;
  if (c.processes == 1 && c.ranks != world) {
    refuse("--ranks",
           fmt::format("{} contradicts {}: the plan has {}", c.ranks, facts.from,
                       plural(world, "rank", "ranks")),
           "start more processes, or leave --ranks out");
  }
  if (c.spread == Spread::tcp && !facts.rendezvous) {
    refuse("--rendezvous", "nothing says where process 0 listens",
           "--rendezvous HOST:PORT, or MASTER_ADDR and MASTER_PORT in the environment");
  }
  return c;
}

std::string to_text(const ProcessChoice& c) {
  const std::string each = fmt::format("{} of {}", plural(c.processes, "process", "processes"),
                                       plural(c.ranks, "rank", "ranks"));
  switch (c.spread) {
    case Spread::threads:
      return plural(c.ranks, "thread", "threads") + " of this process";
    case Spread::mpi: {
      ProcessFacts facts = c.facts;
      facts.rendezvous.reset();  // MPI tells where
      return each + " over MPI: " + pleat::to_text(facts);
    }
    case Spread::tcp:
      return each + " over TCP: " + pleat::to_text(c.facts);
    case Spread::spawn:
      return each + " over TCP, started here";
  }
  return each;
}

JobPart join(const ProcessChoice& c, const ProcessOptions& o, int world,
             const std::string& fingerprint) {
  const MeshTimes times{.lost_s = o.lost_seconds, .meet_s = o.meeting_seconds};
  switch (c.spread) {
    case Spread::threads:
      break;
    case Spread::mpi:
      return join_over_mpi({.ranks = c.ranks,
                            .world = world,
                            .fingerprint = fingerprint,
                            .timeout_s = o.meeting_seconds,
                            .process = c.facts.process,
                            .processes = c.facts.processes},
                           times);
    case Spread::tcp:
    case Spread::spawn: {
      Meeting m;
      m.at = {*c.facts.rendezvous};
      m.process = c.facts.process;
      m.processes = c.facts.processes;
      m.ranks = c.ranks;
      m.world = world;
      m.fingerprint = fingerprint;
      m.timeout_s = o.meeting_seconds;
      m.secret = find_job_secret(environment_variable);
      if (m.process == 0) m.listener = inherited_listener();
      return JobPart::over_tcp(std::move(m), times);
    }
  }
  return JobPart::of_threads(world);
}

}  // namespace pleat
