// libstdc++ asks for these facts of an operating system; there is none.

#pragma once
