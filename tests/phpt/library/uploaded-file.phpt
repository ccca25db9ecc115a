--TEST--
Uploaded files keep the tree of their fields, and only what was uploaded can be moved
--LIBRARY--
--FILE--
<?php
use Weft\Http\UploadedFile;

$files = UploadedFile::fromGlobals([
    'one' => ['name' => 'a.txt', 'type' => 'text/plain', 'size' => 3, 'tmp_name' => '/tmp/none', 'error' => UPLOAD_ERR_OK],
    'many' => [
        'name' => ['b.txt', ''],
        'type' => ['text/plain', ''],
        'size' => [4, 0],
        'tmp_name' => ['/tmp/none', ''],
        'error' => [UPLOAD_ERR_OK, UPLOAD_ERR_NO_FILE],
    ],
]);
$one = $files['one'];
echo json_encode([$one->name(), $one->type(), $one->size(), $one->path(), $one->error()]), "\n";
echo json_encode(array_map(fn (UploadedFile $file) => [$file->name(), $file->error()], $files['many'])), "\n";
foreach ([$one, $files['many'][1]] as $file) {
    try {
        $file->moveTo('kept');
    } catch (RuntimeException $failure) {
        echo $failure->getMessage(), "\n";
    }
}
var_dump(file_exists('kept'));
--EXPECTF--
["a.txt","text\/plain",3,"\/tmp\/none",0]
[["b.txt",0],["",4]]
"a.txt" cannot be written to kept: %s
"" was not uploaded (error 4)
bool(false)
