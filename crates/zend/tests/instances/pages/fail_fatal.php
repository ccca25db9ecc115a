<?php
usleep(2000);
eval("class Twice {} class Twice {}");
