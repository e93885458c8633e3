#include "lockstep/store/step_digests.h"

#include "lockstep/store/connection.h"

namespace lockstep::store {

void keep_step_digest(const std::string& store_path, std::int64_t run, std::string_view form,
                      std::string_view text) {
  Database database = open_for_changing(store_path);
  Transaction transaction(database);
  Statement insert =
      database.prepare("INSERT OR REPLACE INTO step_digests(run_id, form, digest) VALUES(?,?,?)");
  insert.bind(1, run).bind(2, form).bind(3, text).execute();
  transaction.commit();
}

}  // namespace lockstep::store
