<?php

declare(strict_types=1);

namespace App;

use Symfony\Component\EventDispatcher\EventSubscriberInterface;
use Symfony\Component\HttpKernel\Event\RequestEvent;
use Symfony\Component\HttpKernel\Event\ResponseEvent;
use Symfony\Component\HttpKernel\KernelEvents;

/** Asks another server about the visitor before each page; its answer appears in the page and in a header. */
final class AskSlowServer implements EventSubscriberInterface
{
    public function __construct(private string $upstream)
    {
    }

    /** @return array<string, string> */
    public static function getSubscribedEvents(): array
    {
        return [KernelEvents::REQUEST => 'ask', KernelEvents::RESPONSE => 'say'];
    }

    public function ask(RequestEvent $event): void
    {
        $request = $event->getRequest();
        $visitor = (string) preg_replace('/[^a-z0-9]/', '', (string) $request->headers->get('X-Visitor'));
        if ($visitor !== '' && $event->isMainRequest()) {
            $late = (int) $request->headers->get('X-Late');
            $request->attributes->set('said', file_get_contents("$this->upstream/late/$late/$visitor"));
        }
    }

    public function say(ResponseEvent $event): void
    {
        $said = (string) $event->getRequest()->attributes->get('said');
        $event->getResponse()->headers->set('X-Visitor', $said);
    }
}
