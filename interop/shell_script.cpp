// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/shell_script.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "core/diagnostics.hpp"
#include "interop/shell_state.hpp"
#include "interop/shell_tokens.hpp"

namespace pleat::interop {
namespace {

using Tokens = std::vector<ShellToken>;
using Kind = ShellToken::Kind;

constexpr int kMostSteps = 200'000;  // commands that are followed
constexpr int kSkipped = 10;         // so many that are read over count as one that is followed
constexpr std::size_t kToken = 4;    // a script's character counts as so many: it may be a token
constexpr int kMostCalls = 60;

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

class Follower {
 public:
  Follower(const ShellInput& input, std::string where) : input_(input), where_(std::move(where)) {
    for (const auto& [name, value] : input.variables) state_.set(name, value);
    for (int n = 1; input.variables.contains(std::to_string(n)); ++n)
      state_.positional.push_back(input.variables.at(std::to_string(n)));
    state_.printed_by_yq = input.printed_by_yq;
  }

  void follow(const std::string& text) {
    if (++depth_ > kMostCalls) fail("calls itself without end");
    state_.spend(kToken * text.size());
    const Tokens tokens = shell_tokens(text);
    std::size_t at = 0;
    while (at < tokens.size()) {
      const std::size_t before = at;
      list(tokens, at, {}, true);
      if (at == before) ++at;  // something that closes what was never opened
    }
    --depth_;
  }

  ShellScript result() { return {std::move(commands_), state_.all()}; }

 private:
  [[noreturn]] void fail(const char* why) const {
    throw_config_error(ExitCode::bad_file, where_, "", why, "the command line itself, in a file");
  }

  void step(int count) {
    steps_ += count;
    if (steps_ > kMostSteps * kSkipped) fail("does not end");
  }

  static bool is_op(const Tokens& t, std::size_t at, std::string_view what) {
    return at < t.size() && t[at].kind == Kind::op && t[at].text == what;
  }
  static bool is_word(const Tokens& t, std::size_t at, std::string_view what) {
    return at < t.size() && t[at].kind == Kind::word && t[at].text == what;
  }

  // Commands up to a word that ends the list; that word stays. Whether the last one succeeded.
  bool list(const Tokens& t, std::size_t& at, const std::set<std::string>& ends, bool run) {
    bool success = true;
    while (at < t.size()) {
      if (is_op(t, at, ";") || is_op(t, at, "&")) {
        ++at;
        continue;
      }
      if (is_op(t, at, ";;") || is_op(t, at, ")")) break;
      if (t[at].kind == Kind::word && ends.contains(t[at].text)) break;
      const std::size_t before = at;
      success = and_or(t, at, run);
      if (at == before) break;
    }
    return success;
  }

  bool and_or(const Tokens& t, std::size_t& at, bool run) {
    bool success = pipeline(t, at, run);
    while (is_op(t, at, "&&") || is_op(t, at, "||")) {
      const bool wants = t[at].text == "&&";
      ++at;
      while (is_op(t, at, ";")) ++at;  // a line's end
      const bool runs = run && success == wants;
      const bool next = pipeline(t, at, runs);
      if (runs) success = next;
    }
    return success;
  }

  bool pipeline(const Tokens& t, std::size_t& at, bool run) {
    bool negated = false;
    while (is_word(t, at, "!")) {
      negated = !negated;
      ++at;
    }
    bool success = command(t, at, run);
    while (is_op(t, at, "|")) {
      ++at;
      if (is_op(t, at, "&")) ++at;
      while (is_op(t, at, ";")) ++at;
      success = command(t, at, run);
    }
    return success != negated;
  }

  bool command(const Tokens& t, std::size_t& at, bool run) {
    if (++depth_ > kMostCalls) fail("is nested too deeply");
    step(run ? kSkipped : 1);
    const bool success = command_inside(t, at, run);
    --depth_;
    return success;
  }

  bool command_inside(const Tokens& t, std::size_t& at, bool run) {
    if (at >= t.size()) return true;
    if (t[at].kind == Kind::arithmetic) {
      const auto value = run ? state_.arithmetic(t[at].text) : std::nullopt;
      ++at;
      return value && *value != 0;
    }
    if (is_op(t, at, "(") || is_word(t, at, "{")) {
      const bool brace = t[at].kind == Kind::word;
      ++at;
      const bool success = list(t, at, {brace ? "}" : ")"}, run);
      if (at < t.size()) ++at;
      return success;
    }
    if (t[at].kind == Kind::word) {
      const std::string& word = t[at].text;
      if (word == "if") return follow_if(t, at, run);
      if (word == "for") return follow_for(t, at, run);
      if (word == "while" || word == "until") return follow_while(t, at, run);
      if (word == "case") return follow_case(t, at, run);
      if (word == "[[") return follow_brackets(t, at, run);
      if (word == "function" || (is_op(t, at + 1, "(") && is_op(t, at + 2, ")")))
        return define(t, at);
    }
    return simple(t, at, run);
  }

  bool follow_if(const Tokens& t, std::size_t& at, bool run) {
    bool done = false, success = true;
    while (at < t.size() && !is_word(t, at, "fi")) {
      const bool is_else = is_word(t, at, "else");
      ++at;  // if, elif, else
      bool holds = true;
      if (!is_else) {
        holds = list(t, at, {"then", "fi"}, run && !done);
        if (is_word(t, at, "then")) ++at;
      }
      const bool runs = run && !done && holds;
      const bool last = list(t, at, {"elif", "else", "fi"}, runs);
      if (runs) success = last;
      done = done || (runs && holds);
      if (is_op(t, at, ";;") || is_op(t, at, ")")) break;
    }
    if (at < t.size()) ++at;
    return success;
  }

  // for ((first; condition; next)). What it counts by must be known.
  bool follow_count(const Tokens& t, std::size_t& at, bool run) {
    const std::string& head = t[at].text;
    const std::size_t first = head.find(';'), second = head.find(';', first + 1);
    while (at < t.size() && !is_word(t, at, "do")) ++at;
    const std::size_t body = ++at;
    bool counted = run && second != std::string::npos && state_.count(head.substr(0, first));
    bool followed = false;
    while (counted) {
      const auto holds = state_.arithmetic(head.substr(first + 1, second - first - 1));
      if (!holds) fail("counts by what is not known");
      if (*holds == 0) break;
      at = body;
      list(t, at, {"done"}, true);
      followed = true;
      counted = state_.count(head.substr(second + 1));
      step(kSkipped);
    }
    if (!followed) list(t, at, {"done"}, false);
    if (at < t.size()) ++at;
    return true;
  }

  bool follow_for(const Tokens& t, std::size_t& at, bool run) {
    ++at;
    if (at < t.size() && t[at].kind == Kind::arithmetic) return follow_count(t, at, run);
    const std::string name = at < t.size() && t[at].kind == Kind::word ? t[at].text : "";
    ++at;
    std::vector<std::string> values;
    if (is_word(t, at, "in")) {
      for (++at; at < t.size() && t[at].kind == Kind::word; ++at) {
        if (!run) continue;
        for (std::string& value : state_.words(t[at].text)) values.push_back(std::move(value));
      }
    }
    while (at < t.size() && !is_word(t, at, "do")) ++at;
    const std::size_t body = ++at;
    for (const std::string& value : values) {
      state_.set(name, value);
      at = body;
      list(t, at, {"done"}, true);
    }
    if (values.empty()) list(t, at, {"done"}, false);
    if (at < t.size()) ++at;
    return true;
  }

  // How often is not known, so what the body sets is what the user says, unless it never begins.
  bool follow_while(const Tokens& t, std::size_t& at, bool run) {
    const bool wants = t[at++].text == "while";
    const bool begins = list(t, at, {"do"}, run) == wants;
    const std::size_t body = at;
    if (at < t.size()) ++at;
    list(t, at, {"done"}, false);
    for (std::size_t i = body; run && begins && i < std::min(at, t.size()); ++i) {
      if (t[i].kind != Kind::word || assigned_name(t[i].text) == 0) continue;
      const std::string name = t[i].text.substr(0, t[i].text.find_first_of("[=+"));
      const auto given = input_.variables.find(name);
      if (given == input_.variables.end())
        state_.forget(name);
      else
        state_.set(name, given->second);
    }
    if (at < t.size()) ++at;
    return true;
  }

  bool follow_case(const Tokens& t, std::size_t& at, bool run) {
    ++at;
    const std::string value =
        run && at < t.size() && t[at].kind == Kind::word ? known_part(state_.word(t[at].text)) : "";
    while (at < t.size() && !is_word(t, at, "in")) ++at;
    ++at;
    bool done = false;
    while (at < t.size() && !is_word(t, at, "esac")) {
      bool matches = false;
      for (; at < t.size() && !is_op(t, at, ")") && !is_word(t, at, "esac"); ++at) {
        if (t[at].kind == Kind::word)
          matches = matches || (run && glob_matches(state_.word(t[at].text), value));
      }
      if (is_op(t, at, ")")) ++at;
      const bool runs = run && !done && matches;
      list(t, at, {"esac"}, runs);
      done = done || runs;
      if (is_op(t, at, ";;") || is_op(t, at, ")")) ++at;
    }
    if (at < t.size()) ++at;
    return true;
  }

  bool define(const Tokens& t, std::size_t& at) {
    if (is_word(t, at, "function")) ++at;
    const std::string name = at < t.size() ? t[at].text : "";
    ++at;
    while (at < t.size() && !is_word(t, at, "{")) ++at;
    const std::size_t begin = std::min(at + 1, t.size());
    at = begin;
    list(t, at, {"}"}, false);
    functions_[name] = Tokens(t.begin() + static_cast<std::ptrdiff_t>(begin),
                              t.begin() + static_cast<std::ptrdiff_t>(std::min(at, t.size())));
    if (at < t.size()) ++at;
    return true;
  }

  // [[ … ]] up to its end; && and || inside are operators of the script.
  bool follow_brackets(const Tokens& t, std::size_t& at, bool run) {
    std::vector<std::string> words;
    for (++at; at < t.size() && !is_word(t, at, "]]"); ++at) {
      if (is_op(t, at, ";")) continue;
      words.push_back(run && t[at].kind == Kind::word ? state_.word(t[at].text) : t[at].text);
    }
    if (at < t.size()) ++at;
    return run && condition_holds(words, state_);
  }

  using Before = std::vector<std::pair<std::string, std::optional<ShellState::Items>>>;

  void assign(const ShellToken& t, Before* before) {
    if (t.kind == Kind::array) {
      const bool more = t.text.size() > 2 && t.text[t.text.size() - 2] == '+';
      ShellState::Items items;
      for (const std::string& raw : t.items) {
        const std::size_t close = raw.find("]=");
        if (raw.starts_with('[') && close != std::string::npos) {
          items.emplace_back(state_.word(std::string_view(raw).substr(1, close - 1)),
                             state_.word(std::string_view(raw).substr(close + 2)));
          continue;
        }
        for (std::string& word : state_.words(raw)) items.emplace_back("", std::move(word));
      }
      state_.set_items(t.text.substr(0, t.text.size() - (more ? 2 : 1)), std::move(items), more);
      return;
    }
    const std::size_t end = assigned_name(t.text);
    const std::string name = t.text.substr(0, end);
    if (before != nullptr && name.find('[') == std::string::npos &&
        std::ranges::find(*before, name, &Before::value_type::first) == before->end())
      before->emplace_back(name, state_.copy(name));
    if (t.text[end] == '+')
      state_.append(name, state_.word(std::string_view(t.text).substr(end + 2)));
    else
      state_.set(name, state_.word(std::string_view(t.text).substr(end + 1)));
  }

  bool simple(const Tokens& t, std::size_t& at, bool run) {
    std::vector<std::string> words;
    std::vector<const ShellToken*> bodies;
    Before before;  // of "A=1 command"
    const auto declares = [&] {
      return !words.empty() &&
             (words[0] == "export" || words[0] == "declare" || words[0] == "local" ||
              words[0] == "readonly" || words[0] == "typeset");
    };
    for (; at < t.size() && t[at].kind != Kind::op; ++at) {
      if (!run || t[at].kind == Kind::arithmetic) continue;
      if (t[at].kind == Kind::heredoc) {
        bodies.push_back(&t[at]);
      } else if (t[at].kind == Kind::array ||
                 ((words.empty() || declares()) && assigned_name(t[at].text) > 0)) {
        const bool refers = declares() && std::ranges::find(words, "-n") != words.end();
        const std::size_t end = assigned_name(t[at].text);
        if (refers && end > 0)
          state_.refer(t[at].text.substr(0, end),
                       state_.word(std::string_view(t[at].text).substr(end + 1)));
        else
          assign(t[at], declares() ? nullptr : &before);
      } else {
        for (std::string& word : state_.words(t[at].text)) words.push_back(std::move(word));
      }
    }
    if (at < t.size() && is_op(t, at, "(")) ++at;  // no command that is known has one
    if (words.empty()) before.clear();             // they stay
    const bool success = !run || act(std::move(words), bodies);
    for (auto& [name, items] : before) {
      if (items)
        state_.set_items(name, *std::move(items), false);
      else
        state_.unset(name);
    }
    return success;
  }

  bool act(std::vector<std::string> words, const std::vector<const ShellToken*>& bodies) {
    if (words.empty()) return true;
    const std::string& name = words[0];
    const auto text_of = [&](const ShellToken& body) {
      return body.literal ? body.text : state_.heredoc(body.text);
    };
    if (name == "read" && !bodies.empty()) {
      state_.set(words.back(), text_of(*bodies.front()));
      return true;
    }
    if (const auto found = functions_.find(name); found != functions_.end()) {
      const Tokens body = found->second;
      call(words, 1, [&] {
        std::size_t at = 0;
        while (at < body.size()) {
          const std::size_t before = at;
          list(body, at, {}, true);
          if (at == before) ++at;
        }
      });
      return true;
    }
    if (name == "[" || name == "test") {
      if (name == "[" && words.back() == "]") words.pop_back();
      words.erase(words.begin());
      return condition_holds(words, state_);
    }
    // "[$A = true]" is no test but a program that nobody has.
    if (name == "false" || (name.size() > 1 && name.front() == '[')) return false;
    if (name == "unset") {
      for (std::size_t i = 1; i < words.size(); ++i) state_.unset(words[i]);
      return true;
    }
    if (name == "source" || name == ".") {
      if (const std::string* const text = file(words, 1)) follow(*text);
      return true;
    }
    if (name == "eval") {
      std::string text;
      for (std::size_t i = 1; i < words.size(); ++i) text += words[i] + " ";
      follow(text);
      return true;
    }
    for (const ShellToken* body : bodies) {
      const std::string outer = job_;
      job_ = text_of(*body);
      const std::string text = job_;
      follow(text);
      job_ = outer;
    }
    collect(std::move(words));
    return true;
  }

  // The text of a file that is given, by its name.
  const std::string* file(const std::vector<std::string>& words, std::size_t at) const {
    if (at >= words.size()) return nullptr;
    const auto found = input_.files.find(file_name(known_part(words[at])));
    return found == input_.files.end() ? nullptr : &found->second;
  }

  template <class Body>
  void call(const std::vector<std::string>& words, std::size_t first, Body body) {
    std::vector<std::string> outer(words.begin() + static_cast<std::ptrdiff_t>(first), words.end());
    std::swap(outer, state_.positional);
    body();
    std::swap(outer, state_.positional);
  }

  // As a shell of its own: what it sets is gone when it ends.
  void follow_apart(const std::vector<std::string>& words, std::size_t first,
                    const std::string& text) {
    ShellState outer = state_.snapshot();
    call(words, first, [&] { follow(text); });
    state_.restore(std::move(outer));
  }

  // "sbatch --nodes=8 job.sh …" of a given file, as a job with these options.
  bool submit(const std::vector<std::string>& words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string* const text = words[i].starts_with('-') ? nullptr : file(words, i);
      if (text == nullptr) continue;
      const std::string outer_job = job_;
      job_ = "#SBATCH";
      for (std::size_t k = 1; k < i; ++k) job_ += " " + words[k];
      job_ += "\n" + *text;
      follow_apart(words, i + 1, *text);
      job_ = outer_job;
      return true;
    }
    return false;
  }

  // Also behind a launcher: "bash script.sh …" of a given file, "bash -c '…'".
  void collect(std::vector<std::string> words) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const std::string shell = file_name(words[i]);
      if (shell != "bash" && shell != "sh") continue;
      const std::string& next = words[i + 1];
      if (next.size() > 1 && next.front() == '-' && next.back() == 'c' && i + 2 < words.size()) {
        const std::size_t before = commands_.size();
        follow(words[i + 2]);
        std::size_t characters = 0;
        for (std::size_t k = 0; k < i; ++k) characters += kShellWord + words[k].size();
        for (std::size_t k = before; k < commands_.size(); ++k) {
          state_.spend(characters);
          commands_[k].words.insert(commands_[k].words.begin(), words.begin(),
                                    words.begin() + static_cast<std::ptrdiff_t>(i));
        }
        return;
      }
      if (const std::string* const text = file(words, i + 1)) {
        follow_apart(words, i + 2, *text);
        return;
      }
    }
    if (file_name(words[0]) == "sbatch" && submit(words)) return;
    if (const std::string* const text = file(words, 0)) {
      follow_apart(words, 1, *text);
      return;
    }
    state_.spend(job_.size());
    commands_.push_back({std::move(words), job_});
  }

  const ShellInput& input_;
  std::string where_;
  ShellState state_;
  std::map<std::string, Tokens> functions_;
  std::vector<ShellCommand> commands_;
  std::string job_;
  int steps_ = 0, depth_ = 0;
};

}  // namespace

ShellScript follow_script(const std::string& text, const ShellInput& input,
                          const std::string& where) {
  Follower follower(input, where);
  try {
    follower.follow(text);
  } catch (const ConfigError& e) {
    if (!e.diagnostics().front().where.empty()) throw;
    throw_config_error(ExitCode::bad_file, where, "", e.diagnostics().front().message, "");
  }
  return follower.result();
}

}  // namespace pleat::interop
