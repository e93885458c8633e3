#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "lockstep/import/model/stated_facts.h"

namespace lockstep::import {

/// Whether a word begins at `at`.
bool word_begins(std::string_view text, std::size_t at);

/// The count after one of the marks, each at the beginning of a word.
std::optional<std::int64_t> count_after(std::string_view text,
                                        std::initializer_list<std::string_view> marks);

/// Appends the workers, nodes and tasks that `text`, in lower case, states.
void worker_facts(std::string_view text, std::vector<StatedFact>& facts);

/// Appends over how many workers `text`, in lower case, states that one example is split.
void split_facts(std::string_view text, std::vector<StatedFact>& facts);

/// Appends every "batch size" and "batch per GPU" of `text`, in lower case, with whose it is.
void batch_facts(std::string_view text, std::vector<StatedFact>& facts);

}  // namespace lockstep::import
