// A kernel that waits for a tile that never comes.

#include "api/dataflow/dataflow_api.h"

void kernel_main() { cb_wait_front(3, 1); }
