package work

import _ "reflect"
