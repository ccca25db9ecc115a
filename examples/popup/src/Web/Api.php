<?php

declare(strict_types=1);

namespace Popup\Web;

use Popup\Cache\ConfigurationCache;
use Popup\Cache\NothingKnown;
use Popup\Log;
use Popup\Service;
use Popup\State\StatesException;
use Weft\Http\Request;
use Weft\Http\Response;
use Weft\Queue\QueueException;

/** The JSON interface that openapi.yaml describes. */
final class Api
{
    public function __construct(private readonly Service $service, private readonly ConfigurationCache $configurations) {}

    public function ask(Request $request): Response
    {
        $visitor = Input::visitor(Input::fields($request));
        try {
            return $this->answer($this->service->ask($visitor));
        } catch (StatesException $error) {
            // Showing a pop-up twice is worse than showing it later.
            Log::seldom('answered with none', $error->getMessage());

            return $this->answer('{"popup":null,"ask_again_in":30}')->setHeader('Popup-Degraded', 'users');
        } catch (QueueException|NothingKnown|\PDOException $error) {
            throw self::notRecorded($error);
        }
    }

    public function report(Request $request): Response
    {
        $fields = Input::fields($request);
        try {
            $known = $this->service->report(Input::display($fields), Input::operation($fields));
        } catch (QueueException|StatesException|\PDOException $error) {
            throw self::notRecorded($error);
        }
        if (!$known) {
            throw new Problem(404, 'unknown_display', 'No such pop-up was given to anybody', 'display');
        }

        return $this->answer('{"recorded":true}');
    }

    private function answer(string $json): Response
    {
        $response = new Response($json, 200, ['Content-Type' => 'application/json']);
        $stale = $this->configurations->stale();

        return $stale === null ? $response : $response->setHeader('Popup-Stale', $stale);
    }

    private static function notRecorded(\Throwable $error): Problem
    {
        Log::seldom('answered with 503', $error->getMessage());

        return Problem::unavailable('This could not be recorded now. Nothing is lost: send it again');
    }
}
