#include <algorithm>
#include <set>

#include "lockstep/import/readers/transcript/epoch_mark.h"
#include "lockstep/import/readers/transcript/line_kinds.h"
#include "lockstep/import/readers/transcript/segments.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kLongestContext = 4096;
constexpr std::size_t kMostBlocks = 4096;

}  // namespace

/// A heading between two rules below the figures begins another part of the program, unless it is
/// about the validation of this run or about its failure.
void Segments::look_for_heading(std::string_view text) {
  const bool rule = is_separator(text);
  if (rule && ruled_ == Ruled::kText) ++headings_below_;
  const bool heads = !trim(text).empty() && split_of(text) == Split::kNone &&
                     !contains_any<"poch", "rror", "RROR", "ail", "AIL", "raceback">(text);
  ruled_ = rule ? Ruled::kRule : ruled_ == Ruled::kRule && heads ? Ruled::kText : Ruled::kNone;
}

void Segments::end_block() {
  if (!block_.empty() && done_.size() < kMostBlocks) {
    block_.facts.clear();
    for (const Entry& entry : scene_) block_.facts.push_back(entry.fact);
    block_.group = group_;
    done_.push_back(std::move(block_));
  }
  block_ = Block();
  for (Entry& entry : scene_) entry.here = false;
  cursor_ = -1;
  last_step_ = -1;
  went_back_ = false;
  headings_below_ = 0;
  held_bar_.reset();
}

void Segments::take_words_above() {
  if (block_.has_epochs()) return;
  block_.words_above = std::move(words_above_);
  words_above_.clear();
}

/// "=== SGD ===" above one run and "=== Adam ===" above the next are headings, where nothing else
/// is: the runs are of different experiments.
void Segments::settle_words_above() {
  std::set<std::string_view> words;
  for (const Block& block : done_) {
    if (!block.words_above.empty()) words.insert(block.words_above);
    for (const StatedFact& fact : block.facts) {
      if (fact.key == FactKey::kHeading) return;
    }
  }
  if (words.size() < 2) return;
  for (Block& block : done_) {
    if (!block.words_above.empty())
      block.facts.push_back({FactKey::kHeading, 0, block.words_above});
  }
}

void Segments::put(const StatedFact& fact) {
  const auto same = std::find_if(scene_.begin(), scene_.end(),
                                 [&](const Entry& entry) { return entry.fact.key == fact.key; });
  if (same == scene_.end()) {
    scene_.push_back({fact, true});
  } else {
    // With model parallelism some tools call the data-parallel degree their world: the larger is
    // the number of processes.
    const bool smaller =
        fact.key == FactKey::kWorldSize && same->here && fact.number < same->fact.number;
    if (!smaller) same->fact = fact;
    same->here = true;
  }
}

void Segments::open(const StatedFact* fact) {
  end_block();
  ++group_;
  if (fact == nullptr) return;
  const auto same = std::find_if(scene_.begin(), scene_.end(),
                                 [&](const Entry& entry) { return entry.fact.key == fact->key; });
  scene_.erase(same, scene_.end());
  scene_.push_back({*fact, true});
}

void Segments::settle_pending(bool restart) {
  if (pending_.empty()) return;
  std::vector<StatedFact> facts;
  facts.swap(pending_);
  if (restart) open(&facts.front());
  for (const StatedFact& fact : facts) {
    const bool known = std::any_of(scene_.begin(), scene_.end(), [&](const Entry& entry) {
      return entry.fact.key == fact.key && entry.here;
    });
    // A heading after the last figures is that of a run that printed none.
    if (!restart && (known || fact.key == FactKey::kHeading || fact.key == FactKey::kStart))
      continue;
    put(fact);
  }
}

void Segments::state(const std::vector<StatedFact>& facts, bool has_figures) {
  for (const StatedFact& fact : facts) {
    if (block_.empty()) {
      put(fact);
      continue;
    }
    const auto same = std::find_if(scene_.begin(), scene_.end(),
                                   [&](const Entry& entry) { return entry.fact.key == fact.key; });
    const bool known = same != scene_.end();
    const bool differs = known && !same->fact.same_value(fact);
    // Text of headings and settings may be printed again in other words at any time; numbers not.
    const bool scene = fact.key >= FactKey::kWorldSize && fact.key <= FactKey::kGlobalBatch;
    if (fact.key == FactKey::kLoaderWorkers) {  // printed with what the run took, after it
      put(fact);
      continue;
    }
    if (has_figures && (!known || !same->here || !differs)) {
      put(fact);
    } else if (differs && scene && same->here && pending_.empty()) {
      open(&fact);
    } else if (!has_figures) {
      pending_.push_back(fact);
      if (differs && scene && same->here) settle_pending(true);
    }
  }
}

bool Segments::restarts(std::int64_t epoch) const {
  return block_.has_epochs() && (epoch < cursor_ || epoch == block_.first_epoch()) &&
         epoch <= block_.first_epoch();
}

bool Segments::memory_ran_out(const Line& line) {
  const std::string_view text = line.text;
  if (!tells_of_exhausted_memory(text)) return false;
  if (headings_below_ > 0 && !block_.empty() && !block_.out_of_memory) {
    block_.memory_line_below = line.number;
    return true;
  }
  if (!block_.out_of_memory) {
    block_.failure = printable(trim(text), 160);
    block_.memory_line = line.number;
  }
  block_.out_of_memory = true;
  tell(line, "out of memory");
  return true;
}

void Segments::context(std::string_view text) {
  if (text.size() > kLongestContext || find_epoch_mark(text)) return;
  found_.clear();
  find_facts(text, found_);
  if (!found_.empty()) state(found_, false);
}

}  // namespace lockstep::import
