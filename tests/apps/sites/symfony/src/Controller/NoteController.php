<?php

declare(strict_types=1);

namespace App\Controller;

use App\Message\CountWords;
use App\NoteForm;
use Doctrine\DBAL\Connection;
use RuntimeException;
use Symfony\Bundle\FrameworkBundle\Controller\AbstractController;
use Symfony\Component\HttpFoundation\File\UploadedFile;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpFoundation\StreamedResponse;
use Symfony\Component\HttpKernel\Exception\GoneHttpException;
use Symfony\Component\Messenger\MessageBusInterface;

final class NoteController extends AbstractController
{
    public function __construct(private Connection $connection)
    {
    }

    public function index(Request $request): Response
    {
        $session = $request->getSession();
        $session->set('visits', $session->get('visits', 0) + 1);
        $notes = $this->connection->fetchAllAssociative('SELECT id, title FROM notes ORDER BY id');

        return $this->render('notes.html.twig', ['notes' => $notes]);
    }

    public function create(Request $request, MessageBusInterface $bus): Response
    {
        $form = $this->container->get('form.factory')->createNamed('', NoteForm::class);
        $form->handleRequest($request);
        if (!$form->isSubmitted() || !$form->isValid()) {
            return $this->renderForm('new.html.twig', ['form' => $form]);
        }
        $note = $form->getData();
        $picture = $note['picture'];
        if ($picture instanceof UploadedFile) {
            $name = sha1_file($picture->getPathname()) . '.png';
            $picture->move($this->getParameter('kernel.project_dir') . '/public/pictures', $name);
            $note['picture'] = $name;
        }
        $this->connection->insert('notes', ['user' => $this->getUser()->id()] + $note);
        $id = (int) $this->connection->lastInsertId();
        $bus->dispatch(new CountWords($id));
        $this->addFlash('said', "“{$note['title']}” is kept.");

        return $this->redirectToRoute('note', ['id' => $id]);
    }

    public function show(int $id): Response
    {
        $note = $this->connection->fetchAssociative('SELECT * FROM notes WHERE id = ?', [$id]);
        if ($note === false) {
            throw $this->createNotFoundException();
        }

        return $this->render('note.html.twig', ['note' => $note]);
    }

    public function api(): JsonResponse
    {
        return new JsonResponse(
            $this->connection->fetchAllAssociative('SELECT id, title, text, words FROM notes ORDER BY id'),
        );
    }

    public function export(): StreamedResponse
    {
        $connection = $this->connection;

        return new StreamedResponse(static function () use ($connection): void {
            $to = fopen('php://output', 'w');
            foreach ($connection->iterateNumeric('SELECT id, title, text FROM notes ORDER BY id') as $row) {
                fputcsv($to, $row);
                flush();
            }
        }, 200, ['Content-Type' => 'text/csv', 'Content-Disposition' => 'attachment; filename=notes.csv']);
    }

    public function boom(): never
    {
        throw new RuntimeException('Something broke.');
    }

    public function old(): never
    {
        throw new GoneHttpException();
    }
}
