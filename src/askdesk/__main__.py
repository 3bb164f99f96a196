"""`python -m askdesk` is `askdesk`."""

import sys

from askdesk.cli.main import main

sys.exit(main())
