<?php
// A form with an upload, and the file served again with ranges and conditional requests.
//
//     weft serve examples/04-upload/app.php
//     curl -F picture=@photo.jpg http://127.0.0.1:8080/

use Weft\Http\Request;
use Weft\Http\Response;
use Weft\Http\UploadedFile;

$directory = getenv('UPLOADS') ?: sys_get_temp_dir() . '/weft-uploads';
is_dir($directory) || mkdir($directory, 0o700, true);

const FORM = <<<'HTML'
    <!doctype html><html lang="en"><meta charset="utf-8"><title>Upload</title>
    <form method="post" enctype="multipart/form-data">
      <label>Picture <input type="file" name="picture" required></label> <button>Send</button>
    </form></html>
    HTML;

function keep(Request $request, string $directory): Response
{
    $file = $request->files()['picture'] ?? null;
    if (!$file instanceof UploadedFile || $file->error() !== UPLOAD_ERR_OK) {
        return Response::text("Send a file in the field \"picture\".\n", 422);
    }
    $name = bin2hex(random_bytes(8));
    $file->moveTo("$directory/$name");

    return Response::text("/$name ({$file->size()} bytes)\n", 201)->setHeader('Location', "/$name");
}

return fn (Request $request): Response => match (true) {
    $request->method() === 'POST' => keep($request, $directory),
    preg_match('#^/[0-9a-f]{16}$#D', $request->path()) === 1 => Response::file($directory . $request->path()),
    default => new Response(FORM),
};
