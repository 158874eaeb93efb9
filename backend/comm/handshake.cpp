// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/handshake.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

// No byte of it is padding, which would not be the same on both sides.
static_assert(sizeof(Hello) == 4 * 4 + 8 + 32);

constexpr double kTrySeconds = 5;  // for one greeting

unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

template <class T>
void hash_in(crypto_generichash_state& state, const T& value) {
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&value), sizeof value);
}

// BLAKE2b, keyed with the secret. `use` keeps proofs and keys apart.
SecretKey keyed_hash(const JobSecret& secret, std::string_view use, const Hello& hello,
                     const Nonce& called) {
  crypto_generichash_state state;
  SecretKey hash;
  crypto_generichash_init(&state, reinterpret_cast<const unsigned char*>(secret.key().data()),
                          secret.key().size(), hash.size());
  hash_in(state, use.size());
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(use.data()), use.size());
  hash_in(state, hello);
  hash_in(state, called);
  crypto_generichash_final(&state, raw(hash.data()), hash.size());
  return hash;
}

Proof called_proof(const JobSecret& s, const Hello& h, const Nonce& called) {
  return keyed_hash(s, "proof of the called", h, called);
}
MessageTags tags_to_called(const JobSecret& s, const Hello& h, const Nonce& called) {
  return MessageTags(keyed_hash(s, "messages to the called", h, called));
}
MessageTags tags_to_caller(const JobSecret& s, const Hello& h, const Nonce& called) {
  return MessageTags(keyed_hash(s, "messages to the caller", h, called));
}

bool equal(const Proof& a, const Proof& b) {
  return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

Nonce new_nonce() {
  start_sodium();
  Nonce nonce;
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

Challenge make_challenge(const JobSecret& secret, const Hello& hello) {
  Challenge c;
  c.nonce = new_nonce();
  c.proof = called_proof(secret, hello, c.nonce);
  return c;
}

Proof callers_proof(const JobSecret& secret, const Hello& hello, const Nonce& called) {
  return keyed_hash(secret, "proof of the caller", hello, called);
}

bool is_callers_proof(const JobSecret& secret, const Hello& hello, const Nonce& called,
                      const Proof& proof) {
  return equal(proof, callers_proof(secret, hello, called));
}

Proof make_welcome(const JobSecret& secret, const Hello& hello, const Nonce& called) {
  return keyed_hash(secret, "welcome of the called", hello, called);
}

Session called_session(const JobSecret& secret, const Hello& hello, const Nonce& called) {
  return {.sends = tags_to_caller(secret, hello, called),
          .receives = tags_to_called(secret, hello, called)};
}

Session callers_session(const JobSecret& secret, const Hello& hello, const Nonce& called) {
  return {.sends = tags_to_called(secret, hello, called),
          .receives = tags_to_caller(secret, hello, called)};
}

Session greet(const Socket& socket, const JobSecret& secret, Hello hello, Deadline deadline) {
  hello.nonce = new_nonce();
  socket.send_exact(std::as_bytes(std::span(&hello, 1)), deadline);
  Challenge challenge;
  socket.recv_exact(std::as_writable_bytes(std::span(&challenge, 1)), deadline);
  if (!equal(challenge.proof, called_proof(secret, hello, challenge.nonce))) {
    throw std::runtime_error("who answers at " + to_text(socket.remote()) +
                             " does not know this job's secret");
  }
  const Proof proof = callers_proof(secret, hello, challenge.nonce);
  socket.send_exact(std::as_bytes(std::span(&proof, 1)), deadline);
  Proof welcome;
  socket.recv_exact(std::as_writable_bytes(std::span(&welcome, 1)), deadline);
  if (!equal(welcome, make_welcome(secret, hello, challenge.nonce))) {
    throw std::runtime_error("who answers at " + to_text(socket.remote()) +
                             " broke off the handshake");
  }
  return callers_session(secret, hello, challenge.nonce);
}

Greeted call(const Address& address, const JobSecret& secret, const Hello& hello,
             Deadline deadline) {
  for (double pause = 0.01;; pause = std::min(1.0, 2 * pause)) {
    Socket socket = connect_until(address, deadline);
    check_reach(socket.remote(), secret);
    try {
      const Session session = greet(socket, secret, hello, std::min(deadline, after(kTrySeconds)));
      return {std::move(socket), session};
    } catch (const std::runtime_error&) {
      if (std::chrono::steady_clock::now() + std::chrono::duration<double>(pause) >= deadline)
        throw;
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
  }
}

bool is_loopback(const Address& a) {
  return a.host.starts_with("127.") || a.host == "::1" || a.host.starts_with("::ffff:127.");
}

void check_reach(const Address& where, const JobSecret& secret) {
  if (is_loopback(where) || !secret.is_known_to_all()) return;
  throw_config_error(
      ExitCode::bad_request, "PLEAT_JOB_SECRET", "",
      fmt::format("is not set: without a secret of the job only this host's loopback is served, "
                  "and the job meets at {}",
                  to_text(where)),
      "the same on every process: export PLEAT_JOB_SECRET=\"$(openssl rand -hex 32)\", or "
      "PLEAT_JOB_SECRET_FILE with the path of a file of mode 600");
}

}  // namespace pleat
