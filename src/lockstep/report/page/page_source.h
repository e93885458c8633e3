#pragma once

#include <string>
#include <vector>

#include "lockstep/collect/stored_runs.h"
#include "lockstep/report/page/page.h"

namespace lockstep::report {

/// Finished runs are compared; runs that were named show all that they have. Throws kData for a run
/// or study that is not there; a store without finished runs gives a page without data.
PageSource stored_page(store::Store& store, const collect::Selection& selection,
                       collect::RunDigests& digests, StudyOptions options = {});

/// From the rows of a measurements table.
PageSource table_page(std::string title, std::vector<record::Measurement> rows,
                      std::vector<std::string> notices, StudyOptions options = {});

}  // namespace lockstep::report
