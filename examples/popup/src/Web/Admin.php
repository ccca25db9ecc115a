<?php

declare(strict_types=1);

namespace Popup\Web;

use Popup\Clock;
use Popup\Health;
use Popup\Rules\Configuration;
use Popup\Storage\Configurations;
use Popup\Storage\Operations;
use Weft\Http\Request;
use Weft\Http\Response;

/**
 * The admin page: lists, creates, edits and pauses configurations, shows live counts.
 *
 * Invariant: nothing is shown without a session; nothing is changed without a session and its form token.
 */
final class Admin
{
    /** @param \Closure(): void $changed is called after each change of configurations */
    public function __construct(
        private readonly Configurations $configurations,
        private readonly Operations $operations,
        private readonly Session $session,
        private readonly Health $health,
        private readonly Clock $clock,
        private readonly \Closure $changed,
    ) {}

    public function handle(Request $request): Response
    {
        $method = $request->method();
        $path = $request->path();
        if ("$method $path" === 'POST /admin/login') {
            return self::isOfThisSite($request) ? $this->login($request) : $this->refuse();
        }
        $csrf = $this->session->csrf($request);
        if ($csrf === null) {
            return $method === 'GET' ? $this->page(Pages::login(false), $path === '/admin' ? 200 : 401) : $this->refuse();
        }
        if ($method === 'POST' && !$this->isOurForm($request, $csrf)) {
            return $this->refuse();
        }
        try {
            return $this->route($request, "$method $path", $csrf);
        } catch (\PDOException $error) {
            error_log("popup admin: {$error->getMessage()}");
            throw Problem::unavailable('The database does not answer now. Pop-ups are still given to users; try again later');
        }
    }

    private function route(Request $request, string $what, string $csrf): Response
    {
        if (preg_match('~^(GET|POST) /admin/configurations/(\d{1,9})(?:/(pause|resume))?$~D', $what, $parts)) {
            $stored = $this->configurations->find((int) $parts[2]) ?? throw new Problem(404, 'not_found', "There is no pop-up {$parts[2]}");

            return match ([$parts[1], $parts[3] ?? '']) {
                ['GET', ''] => $this->page(Pages::edit($stored->id, Form::of($stored), $csrf)),
                ['POST', ''] => $this->save($request, $stored, $csrf),
                ['POST', 'pause'], ['POST', 'resume'] => $this->pause($stored, $parts[3] === 'pause'),
                default => throw new Problem(405, 'method_not_allowed', 'Use POST', null, ['Allow' => 'POST']),
            };
        }

        return match ($what) {
            'GET /admin' => $this->page(
                Pages::list($this->configurations->all(), $this->operations->counts(), $csrf, $this->clock->now()),
            ),
            'GET /admin/counts' => Response::json(['counts' => (object) $this->operations->counts()] + $this->health->totals())
                ->setHeader('Cache-Control', 'no-store'),
            'GET /admin/configurations/new' => $this->page(Pages::edit(0, Form::of(new Configuration(0, '', '', '')), $csrf)),
            'POST /admin/configurations' => $this->save($request, null, $csrf),
            'POST /admin/logout' => $this->session->close($request, Response::redirect('/admin', 303)),
            default => throw new Problem(404, 'not_found', 'There is nothing here'),
        };
    }

    private function login(Request $request): Response
    {
        $token = $request->form('token', '');
        if (!is_string($token) || !$this->session->accepts($token)) {
            return $this->page(Pages::login(true), 401);
        }

        return $this->session->open($request, Response::redirect('/admin', 303));
    }

    private function save(Request $request, ?Configuration $stored, string $csrf): Response
    {
        $form = Form::sent((array) $request->form());
        $id = $stored->id ?? 0;
        $configuration = $form->configuration($id, $stored->paused ?? false);
        if ($configuration === null) {
            return $this->page(Pages::edit($id, $form, $csrf), 422);
        }
        if ($this->configurations->save($configuration, $this->clock->now()) === null) {
            $most = Configurations::LIVE_MAX;
            throw new Problem(409, 'too_many', "There are $most pop-ups that have not ended, the most there may be: end one first");
        }
        ($this->changed)();

        return Response::redirect('/admin', 303);
    }

    private function pause(Configuration $stored, bool $paused): Response
    {
        $this->configurations->pause($stored->id, $paused);
        ($this->changed)();

        return Response::redirect('/admin', 303);
    }

    private function isOurForm(Request $request, string $csrf): bool
    {
        $sent = $request->form('csrf', '');

        return is_string($sent) && hash_equals($csrf, $sent) && self::isOfThisSite($request);
    }

    /** As far as the browser says which page sent the request (Fetch Metadata); clients that are not browsers say nothing. */
    private static function isOfThisSite(Request $request): bool
    {
        return in_array($request->header('Sec-Fetch-Site', 'same-origin'), ['same-origin', 'none'], true);
    }

    private function refuse(): Response
    {
        throw new Problem(403, 'forbidden', 'Sign in at /admin and use the form there');
    }

    private function page(string $html, int $status = 200): Response
    {
        return new Response($html, $status, ['Content-Type' => 'text/html; charset=UTF-8', 'Cache-Control' => 'no-store'] + Pages::HEADERS);
    }
}
