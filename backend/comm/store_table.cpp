// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/store_table.hpp"

#include <algorithm>
#include <charconv>

namespace pleat {
namespace {

// Process 0 makes the roster; nobody speaks for another.
bool may_set(int process, const std::string& key) {
  return process == 0 || key == "process/" + std::to_string(process);
}

// What is no number waits for nothing.
std::chrono::milliseconds milliseconds_in(const std::string& text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::chrono::milliseconds(number);
}

}  // namespace

int StoreTable::join(int process) {
  clients_[next_client_].process = process;
  return next_client_++;
}

bool StoreTable::ask(int client, const StoreQuestion& q, Deadline now, Replies& replies) {
  Client& c = clients_.at(client);
  switch (q.op) {
    case StoreOp::hello:
      c.name = q.key;
      replies.push_back({client, {}});
      return true;
    case StoreOp::set:
      if (!may_set(c.process, q.key)) return false;
      set(client, q, replies);
      return true;
    case StoreOp::get:
      get(client, q, now, replies);
      return true;
    case StoreOp::fail:
      fail(q.value, replies);
      replies.push_back({client, {}});
      return true;
    case StoreOp::seal:
      if (c.process != 0) return false;
      sealed_ = true;
      replies.push_back({client, {}});
      return true;
  }
  return false;
}

void StoreTable::set(int client, const StoreQuestion& q, Replies& replies) {
  const auto [entry, is_new] = values_.try_emplace(q.key, q.value);
  const bool agreed = is_new || entry->second == q.value;
  replies.push_back({client, {agreed ? StoreStatus::ok : StoreStatus::taken, entry->second}});
  for (auto& [number, other] : clients_) {
    if (!is_new || other.waits_for != q.key) continue;
    other.waits_for.reset();
    replies.push_back({number, {StoreStatus::ok, q.value}});
  }
}

void StoreTable::get(int client, const StoreQuestion& q, Deadline now, Replies& replies) {
  Client& c = clients_.at(client);
  const auto found = values_.find(q.key);
  if (failure_) {
    replies.push_back({client, {StoreStatus::failed, *failure_}});
    c.told = true;
  } else if (found != values_.end()) {
    replies.push_back({client, {StoreStatus::ok, found->second}});
  } else {
    c.waits_for = q.key;
    c.waits_until = now + milliseconds_in(q.value);
  }
}

void StoreTable::fail(const std::string& message, Replies& replies) {
  if (failure_) return;
  failure_ = message;
  for (auto& [number, c] : clients_) {
    if (!c.waits_for) continue;
    c.waits_for.reset();
    replies.push_back({number, {StoreStatus::failed, message}});
    c.told = true;
  }
}

void StoreTable::leave(int client, Replies& replies) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  const std::string name = found->second.name;
  clients_.erase(found);
  if (!sealed_ && !name.empty()) fail(name + " left while the job was forming", replies);
}

void StoreTable::give_up(Deadline now, Replies& replies) {
  for (auto& [number, c] : clients_) {
    if (!c.waits_for || c.waits_until > now) continue;
    c.waits_for.reset();
    replies.push_back({number, {StoreStatus::timeout, ""}});
  }
}

std::optional<Deadline> StoreTable::next_deadline() const {
  std::optional<Deadline> next;
  for (const auto& [number, c] : clients_) {
    if (c.waits_for) next = std::min(next.value_or(Deadline::max()), c.waits_until);
  }
  return next;
}

bool StoreTable::must_tell() const {
  return failure_ && std::ranges::any_of(clients_, [](const auto& entry) {
           return !entry.second.name.empty() && !entry.second.told;
         });
}

}  // namespace pleat
