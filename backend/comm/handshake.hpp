// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How two processes of a job show each other that they know its secret, without sending it.
//
//   caller  -> called   Hello: who calls whom, for what, in which epoch, a random number
//   called  -> caller   Challenge: a random number of its own, and the proof of the called
//   caller  -> called   Proof: the caller's
//   called  -> caller   Welcome: the caller is let in
//
// Without a welcome the caller tries again: the called may have sent it away to make room. A proof
// is BLAKE2b, keyed with the secret, of whose proof it is, the Hello and the second random number.
// An old one is worthless, for the numbers are new; so is one for another process, epoch or
// purpose. Both sides make the keys of the connection's two directions in the same way.
#pragma once

#include <cstdint>

#include "backend/comm/job_secret.hpp"
#include "backend/comm/socket.hpp"

namespace pleat {

enum class Purpose : std::uint32_t { store = 1, mesh = 2 };

using Nonce = std::array<std::byte, 32>;
using Proof = std::array<std::byte, 32>;

struct Hello {
  std::uint32_t magic = 0x504c4531;
  Purpose purpose = Purpose::store;
  std::int32_t from = 0, to = 0;  // processes
  std::uint64_t epoch = 0;        // of the mesh: its roster's; of the store: 0
  Nonce nonce{};
};
struct Challenge {
  Nonce nonce{};
  Proof proof{};
};

// The tags of an authenticated connection, as one side has them.
struct Session {
  MessageTags sends, receives;
};

// The called side's, which must not wait: Lobby reads and writes.
[[nodiscard]] Challenge make_challenge(const JobSecret&, const Hello&);
[[nodiscard]] bool is_callers_proof(const JobSecret&, const Hello&, const Nonce& called,
                                    const Proof&);
[[nodiscard]] Session called_session(const JobSecret&, const Hello&, const Nonce& called);
[[nodiscard]] Proof make_welcome(const JobSecret&, const Hello&, const Nonce& called);

// The caller's, once the challenge has come.
[[nodiscard]] Nonce new_nonce();
[[nodiscard]] Proof callers_proof(const JobSecret&, const Hello&, const Nonce& called);
[[nodiscard]] Session callers_session(const JobSecret&, const Hello&, const Nonce& called);

// The caller's side of a socket; of the Hello all but the number. Throws std::runtime_error, within
// the deadline, if the other side does not know the secret, or hangs up.
[[nodiscard]] Session greet(const Socket&, const JobSecret&, Hello, Deadline);

struct Greeted {
  Socket socket;
  Session session;
};
// Connects and greets, again and again until the deadline, for the other side may not be there yet
// or may be busy with strangers. The error is the last try's.
[[nodiscard]] Greeted call(const Address&, const JobSecret&, const Hello&, Deadline);

// ConfigError (bad_request) unless `where`, a numeric address, is this host's loopback or the job
// has a secret.
void check_reach(const Address& where, const JobSecret&);
[[nodiscard]] bool is_loopback(const Address&);

}  // namespace pleat
