// libstdc++ asks for these facts of a processor; the defaults do.

#pragma once
