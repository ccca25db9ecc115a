<?php
echo 'Hello World';
