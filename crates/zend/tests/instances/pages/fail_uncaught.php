<?php
usleep(2000);
throw new RuntimeException("on purpose");
